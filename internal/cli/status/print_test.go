package status

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
)

func TestPrint(t *testing.T) {
	var got bytes.Buffer
	err := print(&got, report.Status{
		Cluster: "c1", Clusterset: "set", Broker: "https://broker", BrokerMilliseconds: ptr.To[int64](3),
		Components: []report.Component{{Name: "atoll-agent", Ready: 1, Wanted: 2, Image: "atoll-agent:v1"}},
		Exports:    map[string]int{"Ready": 2, "Pending": 1}, Imports: map[string]int{},
		Members: []report.Member{
			{Cluster: "c1", State: report.MemberReady, HeartbeatSeconds: ptr.To[int64](4), Exports: 3, Agent: "v1"},
			{Cluster: "c2", State: report.MemberJoining},
		},
		Findings: report.Findings{
			{Severity: report.Error, About: "DNS", Message: "the cluster's own DNS does not ask atoll-dns", Do: "atoll dns install"},
			{Severity: report.Pending, About: "cluster c2", Message: "it has not sent a heartbeat yet"},
		},
	})
	const want = `cluster      c1
clusterset   set
broker       https://broker (3 ms)
atoll-agent  1 of 2 pods ready, atoll-agent:v1
DNS          does not forward clusterset.local to atoll-dns
exports      2 Ready, 1 Pending
imports      none

CLUSTER  STATE    HEARTBEAT  EXPORTS  AGENT
c1       Ready    4s         3        v1
c2       Joining  -          0        -

× DNS: the cluster's own DNS does not ask atoll-dns
    atoll dns install
… cluster c2: it has not sent a heartbeat yet
`
	if err != nil || got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), want, err)
	}
}

// Another cluster's text cannot control the terminal, add lines or add columns.
func TestHostileText(t *testing.T) {
	const hostile = "v1\x1b]52;c;eA==\a\u009b2J\u202e\n\tc9"
	var got bytes.Buffer
	err := print(output.Printable(&got), report.Status{
		Cluster:  "c1",
		Members:  []report.Member{{Cluster: "c2", State: report.MemberReady, Agent: hostile}},
		Findings: report.Findings{{Severity: report.Warning, About: "cluster c2", Message: hostile, Do: hostile}},
	})
	const clean = `v1\u001b]52;c;eA==\u0007\u009b2J\u202e  c9`
	const want = "CLUSTER  STATE  HEARTBEAT  EXPORTS  AGENT\nc2       Ready  -          0        " + clean + "\n\n‼ cluster c2: " + clean + "\n    " + clean + "\n"
	if err != nil || !strings.HasSuffix(got.String(), want) {
		t.Errorf("got:\n%q\nwant at the end:\n%q\n%v", got.String(), want, err)
	}
}
