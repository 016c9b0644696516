package planes

import (
	"bytes"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/cli"
)

// Result is how a command has ended.
type Result struct {
	Status         int
	Stdout, Stderr string
}

// Atoll runs a command line, of words without spaces.
func Atoll(stdin, line string) Result {
	var stdout, stderr bytes.Buffer
	status := cli.Main(append([]string{"atoll"}, strings.Fields(line)...), strings.NewReader(stdin), &stdout, &stderr)
	return Result{status, stdout.String(), stderr.String()}
}

// Must runs a command line, fails the test unless the command succeeds, and returns its
// standard output.
func Must(t *testing.T, stdin, line string) string {
	t.Helper()
	r := Atoll(stdin, line)
	if r.Status != 0 {
		t.Fatalf("atoll %s: status %d\n%s", line, r.Status, r.Stderr)
	}
	return r.Stdout
}
