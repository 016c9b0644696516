package steps

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/creack/pty"
	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/target"
)

// The user must confirm commands that interrupt traffic, on a terminal or with a flag.
func TestConfirm(t *testing.T) {
	for name, tt := range map[string]struct {
		typed     string // input on a terminal; "" if standard input is not a terminal
		yes       bool
		dryRun    bool
		confirmed bool
	}{
		"a terminal: yes":        {"yes\n", false, false, true},
		"a terminal: no":         {"no\n", false, false, false},
		"a terminal: only y":     {"y\n", false, false, false},
		"the flag":               {"", true, false, true},
		"neither":                {"", false, false, false},
		"the flag asks nothing":  {"no\n", true, false, true},
		"a dry run asks nothing": {"no\n", false, true, true},
	} {
		cmd, said := &cobra.Command{}, &bytes.Buffer{}
		cmd.SetErr(said)
		cmd.SetIn(strings.NewReader("yes\n")) // input from a pipe is not a confirmation
		if tt.typed != "" {
			keyboard, terminal, err := pty.Open()
			if err != nil {
				t.Fatal(err)
			}
			defer keyboard.Close()
			defer terminal.Close()
			if _, err := io.WriteString(keyboard, tt.typed); err != nil {
				t.Fatal(err)
			}
			cmd.SetIn(terminal)
		}
		ending := &Ending{yes: tt.yes, DryRun: tt.dryRun}
		err := ending.Confirm(cmd, "It ends.", func() ([]string, error) { return []string{"Clients lose web."}, nil })
		if (err == nil) != tt.confirmed || !strings.Contains(said.String(), "Clients lose web.\n") {
			t.Errorf("%s: %v, after\n%s", name, err, said)
		}
		if asked := strings.Contains(said.String(), "It ends. Type yes to continue: "); asked != (tt.typed != "" && !tt.yes && !tt.dryRun) {
			t.Errorf("%s: the output is\n%s", name, said)
		}
		if tt.typed == "" && !tt.yes && (!errors.Is(err, target.ErrUsage) || !strings.Contains(err.Error(), "add --yes")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
