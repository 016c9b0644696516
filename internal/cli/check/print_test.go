package check

import (
	"bytes"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/doctor/check"
)

// TestPrint: headings, a line for each check, and below it the finding and the fix.
func TestPrint(t *testing.T) {
	var got bytes.Buffer
	p := printer{w: &got}
	results := check.Results{
		{ID: check.APIServer.ID, Cluster: "c1", Subject: "API server", Title: "the API server answers", Status: check.OK, Message: "Kubernetes v1.36.0, 0.9 ms"},
		{ID: check.APIVersions.ID, Cluster: "c1", Subject: "API server", Title: "it serves what Atoll needs", Status: check.OK},
		{ID: check.Wiring.ID, Cluster: "c1", Subject: "DNS", Title: "the cluster's DNS asks", Status: check.Error, Message: "it is not told to", Hint: "atoll dns install --context c1", Documentation: check.Wiring.ID.Anchor()},
		{ID: check.NodeProxy.ID, Cluster: "c2", Subject: "network", Title: "kube-proxy runs on all nodes", Status: check.Skipped, Message: "there is no DaemonSet", Documentation: check.NodeProxy.ID.Anchor()},
		{ID: check.Datagrams.ID, From: "c1", To: "c2", Subject: "between clusters", Title: "UDP comes through", Status: check.Warning, Message: "i/o timeout", Hint: "let UDP through", Documentation: check.Datagrams.ID.Anchor()},
	}
	p.print(results[:2])
	p.print(results[2:])
	p.count(results)
	const want = `cluster c1, API server
√ ATOLL1001 the API server answers: Kubernetes v1.36.0, 0.9 ms
√ ATOLL1002 it serves what Atoll needs

cluster c1, DNS
× ATOLL1502 the cluster's DNS asks
    it is not told to
    do: atoll dns install --context c1
    see: docs/reference/checks.md#atoll1502

cluster c2, network
– ATOLL1403 kube-proxy runs on all nodes
    there is no DaemonSet

between clusters
‼ ATOLL2102 UDP comes through from c1 to c2
    i/o timeout
    do: let UDP through
    see: docs/reference/checks.md#atoll2102

5 checks: 2 passed, 1 warnings, 1 errors, 1 skipped
`
	if got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
}

// Text of another cluster forges no line, wherever a result quotes it.
func TestHostileResult(t *testing.T) {
	const hostile = "x\r\n√ ATOLL1001 all is well\x1b[2J\u202e"
	var got bytes.Buffer
	p := printer{w: &got}
	p.print(check.Results{
		{ID: check.Exports.ID, Cluster: hostile, Subject: "installation", Title: "exports", Status: check.Error, Message: hostile, Hint: hostile, Documentation: "page"},
		{ID: check.Versions.ID, From: hostile, To: hostile, Subject: "between clusters", Title: "versions", Status: check.OK, Message: hostile},
	})
	lines := strings.Split(strings.TrimSpace(got.String()), "\n")
	if len(lines) != 8 || strings.ContainsAny(got.String(), "\x1b\r\u202e") {
		t.Errorf("%d lines:\n%q", len(lines), lines)
	}
	for _, line := range lines {
		if strings.HasPrefix(line, "√ ATOLL1001") {
			t.Errorf("forged: %q", line)
		}
	}
}
