// Package steps reports the progress of commands that install or remove, and the next steps. It writes to
// standard error; standard output is for data.
package steps

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"golang.org/x/term"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// Say returns a function that reports a command's steps.
func Say(cmd *cobra.Command) setup.Say {
	return func(format string, args ...any) {
		fmt.Fprintln(cmd.ErrOrStderr(), printable.Line(fmt.Sprintf(format, args...)))
	}
}

// Report returns a function that reports changed and unchanged objects. With dryRun, planned changes are data, for
// standard output.
func Report(cmd *cobra.Command, dryRun bool) install.Report {
	return func(change install.Change, object client.Object, note string) {
		var w io.Writer = cmd.ErrOrStderr()
		line := fmt.Sprintf("  %s %s", change, install.Name(object))
		switch {
		case change == install.Unchanged:
			return
		case dryRun && planned[change] != "":
			w, line = cmd.OutOrStdout(), planned[change]+" "+install.Name(object)
		case note != "":
			line += ": " + note
		}
		fmt.Fprintln(w, printable.Line(line))
	}
}

// planned are the verbs for changes that are not made.
var planned = map[install.Change]string{install.Deleted: "delete", install.Changed: "change"}

// Next prints the next command to run.
func Next(cmd *cobra.Command, command string) { fmt.Fprintln(cmd.ErrOrStderr(), "next: "+command) }

// Ending are the flags of a command that stops traffic.
type Ending struct{ DryRun, yes bool }

// AddFlags adds the flags --dry-run and --yes.
func (e *Ending) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&e.yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&e.DryRun, "dry-run", false, "list the objects that would be deleted, and change nothing")
}

// NothingChanged ends the output of a dry run.
const NothingChanged = "dry run: nothing was changed"

// Confirm asks the user to confirm the effects that impact lists: by an answer on a terminal, elsewhere by --yes. A dry
// run lists the effects, too, but needs no confirmation.
func (e *Ending) Confirm(cmd *cobra.Command, effect string, impact func() ([]string, error)) error {
	lines, err := impact()
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(cmd.ErrOrStderr(), "  "+printable.Line(line))
	}
	if e.yes || e.DryRun {
		return nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return fmt.Errorf("%w: %s Standard input is not a terminal, so the command cannot ask for confirmation: add --yes, or run the command with --dry-run first", target.ErrUsage, effect)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s Type yes to continue: ", effect)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("canceled: the command changed nothing")
	}
	return nil
}
