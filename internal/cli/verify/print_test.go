package verify

import (
	"bytes"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/doctor/verify"
)

func TestPrint(t *testing.T) {
	var got bytes.Buffer
	err := print(&got, verify.Report{Cases: []verify.Case{
		{Cluster: "c1", Name: "export", Seconds: 0.21},
		{Cluster: "c1", Name: "tcp connection to everywhere", Seconds: 0.1, Detail: "answered by c1 (20), c2 (20), fastest answer in 1.0 ms"},
		{Cluster: "c2", Name: "import", Failure: "only-1 is not imported"},
		{Cluster: "c2", Name: "import is deleted", Skipped: "a previous step failed"},
	}})
	const want = `√ c1: export (0.2 s)
√ c1: tcp connection to everywhere (0.1 s), answered by c1 (20), c2 (20), fastest answer in 1.0 ms
× c2: import
    only-1 is not imported
– c2: import is deleted: a previous step failed

4 cases: 2 passed, 1 failed, 1 not run
`
	if err != nil || got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), want, err)
	}
}

// Text of another cluster forges no line, wherever a case quotes it.
func TestHostileCase(t *testing.T) {
	const hostile = "x\r\n√ c2: import\x1b[2J\u202e"
	var got bytes.Buffer
	err := print(&got, verify.Report{Cases: []verify.Case{{Name: "a", Failure: hostile}, {Name: "b", Skipped: hostile}, {Name: "c", Detail: hostile}}})
	if lines := strings.Count(got.String(), "\n"); err != nil || lines != 6 || strings.Contains(got.String(), "\n√ c2") || strings.ContainsAny(got.String(), "\x1b\r\u202e") {
		t.Errorf("%v, %d lines:\n%q", err, lines, got.String())
	}
}
