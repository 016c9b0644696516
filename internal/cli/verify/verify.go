// Package verify is the command `atoll verify`.
package verify

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/verify"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

type options struct {
	target.Scoped
	format output.Format
	junit  string
	image  string
	verify.Options
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "verify [CONTEXT...]",
		Short: "Test a clusterset from end to end",
		Long: `Creates a namespace with a pod and two Services in each cluster. All clusters export the first Service. The
second Service has a different name in each cluster, so only one cluster exports it. When every cluster has
imported the Services, a pod in each cluster resolves their names and connects to the Services over TCP and UDP.
The command checks which pods answer, deletes the exports, and waits until the imports are deleted.

The command deletes everything that it created, even after a failure or an interruption. The exit status is 79 if
a step failed.`,
		Example: `  atoll verify c1 c2 c3
  atoll verify c1 c2 c3 --junit verify.xml`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	o.AddAllFlag(flags)
	flags.StringVar(&o.junit, "junit", "", "write a JUnit report to this file")
	target.AddImageFlag(flags, &o.image)
	flags.DurationVar(&o.StepTimeout, "wait", 2*time.Minute, "maximum duration of one step; a cluster's DNS may need two minutes to apply the changes of atoll dns install")
	flags.DurationVar(&o.Timeout, "timeout", 5*time.Minute, "maximum duration without the clean-up; the clean-up takes at most another minute")
	output.AddFlag(flags, &o.format, output.Table, output.JSON, output.YAML)
	return command
}

func (o *options) run(cmd *cobra.Command, contexts []string) error {
	members, err := o.Members(cmd.Context(), contexts, o.image)
	if err != nil {
		return err
	}
	o.Say = steps.Say(cmd)
	report, err := verify.Run(cmd.Context(), members, o.Options)
	if o.junit != "" {
		err = errors.Join(err, write(o.junit, report))
	}
	if err := errors.Join(err, output.Write(cmd.OutOrStdout(), o.format, report, print)); err != nil {
		return err
	}
	if report.Failed() > 0 {
		return target.Exit(target.ExitFailed)
	}
	return nil
}

func write(path string, report verify.Report) error {
	file, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("writing the JUnit report: %w", err)
	}
	return errors.Join(report.JUnit(file), file.Close())
}

// print writes a line per case, and its failures below.
func print(w io.Writer, report verify.Report) error {
	skipped := 0
	for _, c := range report.Cases {
		switch {
		case c.Failure != "":
			fmt.Fprintf(w, "%s %s: %s\n    %s\n", output.Bad.On(w), c.Cluster, c.Name, printable.Line(c.Failure))
		case c.Skipped != "":
			skipped++
			fmt.Fprintf(w, "%s %s: %s: %s\n", output.Skipped.On(w), c.Cluster, c.Name, printable.Line(c.Skipped))
		default:
			detail := c.Detail
			if detail != "" {
				detail = ", " + detail
			}
			fmt.Fprintf(w, "%s %s: %s (%.1f s)%s\n", output.Good.On(w), c.Cluster, c.Name, c.Seconds, printable.Line(detail))
		}
	}
	_, err := fmt.Fprintf(w, "\n%d cases: %d passed, %d failed, %d not run\n", len(report.Cases), len(report.Cases)-report.Failed()-skipped, report.Failed(), skipped)
	return err
}
