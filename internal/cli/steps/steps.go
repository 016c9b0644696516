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
)

// Say returns what tells about the steps of a command.
func Say(cmd *cobra.Command) setup.Say {
	return func(format string, args ...any) { fmt.Fprintf(cmd.ErrOrStderr(), format+"\n", args...) }
}

// Report returns what tells about objects that were changed, or that were not although they
// might have been. With dryRun, what would be changed is data.
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
		fmt.Fprintln(w, line)
	}
}

// planned is how changes read that are not made.
var planned = map[install.Change]string{install.Deleted: "delete", install.Changed: "change"}

// Next tells which command to run now.
func Next(cmd *cobra.Command, command string) { fmt.Fprintln(cmd.ErrOrStderr(), "next: "+command) }

// Ending are the flags of a command that ends traffic.
type Ending struct{ DryRun, yes bool }

// AddFlags lets a person look first, and confirm in advance.
func (e *Ending) AddFlags(flags *pflag.FlagSet) {
	flags.BoolVar(&e.yes, "yes", false, "do not ask for confirmation")
	flags.BoolVar(&e.DryRun, "dry-run", false, "list what would be deleted and change nothing")
}

// Confirm has a person agree to what a command ends, which impact lists: on a terminal by an answer, elsewhere by --yes. Nothing
// has to be confirmed of a dry run.
func (e *Ending) Confirm(cmd *cobra.Command, question string, impact func() ([]string, error)) error {
	if e.DryRun {
		return nil
	}
	lines, err := impact()
	if err != nil {
		return err
	}
	for _, line := range lines {
		fmt.Fprintln(cmd.ErrOrStderr(), "  "+line)
	}
	if e.yes {
		return nil
	}
	in, ok := cmd.InOrStdin().(*os.File)
	if !ok || !term.IsTerminal(int(in.Fd())) {
		return fmt.Errorf("%w: %s Standard input is not a terminal, so the command cannot ask for confirmation: add --yes, or run it with --dry-run first", target.ErrUsage, question)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s Type yes to continue: ", question)
	answer, err := bufio.NewReader(in).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return fmt.Errorf("reading the answer: %w", err)
	}
	if strings.TrimSpace(answer) != "yes" {
		return errors.New("nothing was changed")
	}
	return nil
}
