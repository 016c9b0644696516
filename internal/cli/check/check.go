// Package check is the command `atoll check`.
package check

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/join"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
)

// options are the flags.
type options struct {
	target.Several
	format   output.Format
	joinFile string
	checkup.Options
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "check [CONTEXT...]",
		Short: "Check whether clusters can be members of a clusterset, and work as such",
		Long: `Checks one cluster, or several and the ways between them: what their API servers serve, rights,
what runs of Atoll, the way to the broker, clocks, address ranges, how Services are routed, DNS from a
pod's resolv.conf to the answer, and the network, by real connections. For that it makes a namespace
with two small pods in each cluster, and takes it away again; --no-pods does without.

With --pre it says whether clusters can join, before anything is installed; with --join-file, whether
their pods reach the broker that the file names.

  √  as it should be
  ‼  a warning: it works, and not as well as it could
  ×  an error, with what to do about it and where more about it stands
  –  what could not be found out

The exit status is 79 where a check has failed.`,
		Example: `  atoll check --pre c1 c2 c3
  atoll check --pre --join-file c1.join --context c1
  atoll check c1 c2 c3
  atoll check -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	flags.BoolVar(&o.Before, "pre", false, "check whether the clusters can join, before they do")
	flags.StringVar(&o.joinFile, "join-file", "", "with --pre: the join file that is about to be used, or one of another cluster's for the same broker")
	flags.BoolVar(&o.NoPods, "no-pods", false, "make nothing in the clusters, and leave out what takes pods")
	target.AddImageFlag(flags, &o.Image)
	flags.DurationVar(&o.Timeout, "timeout", 3*time.Minute, "how long all of it may take")
	output.AddFlag(flags, &o.format, output.Table, output.JSON, output.YAML)
	return command
}

func (o *options) run(cmd *cobra.Command, contexts []string) error {
	clusters, err := o.Configs(contexts)
	if err != nil {
		return err
	}
	if o.joinFile != "" {
		file, err := join.Read(cmd, o.joinFile)
		if err != nil {
			return err
		}
		o.JoinFile = &file
	}
	o.Options.BrokerServer, o.Say = o.Several.BrokerServer, steps.Say(cmd)
	ctx, cancel := context.WithTimeout(cmd.Context(), o.Timeout)
	defer cancel()
	evidence, problems := checkup.Gather(ctx, clusters, o.Options)
	for _, err := range problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "cleaning up:", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("it was ended before all was found out (--timeout %v): %w", o.Timeout, err)
	}
	results := check.Evaluate(*evidence)
	if done, err := o.format.Structured(cmd.OutOrStdout(), results); err != nil {
		return err
	} else if !done {
		print(cmd.OutOrStdout(), results)
	}
	if failed := results.Count(check.Error); failed > 0 {
		return &target.FailedError{Failed: failed}
	}
	return nil
}

var marks = map[check.Status]string{check.OK: "√", check.Warning: "‼", check.Error: "×", check.Skipped: "–"}

// print writes results under headings, and how many there are of each kind.
func print(w io.Writer, results check.Results) {
	heading := ""
	for _, r := range results {
		h := r.Subject
		if r.Cluster != "" {
			h = "cluster " + r.Cluster + ", " + r.Subject
		}
		if h != heading {
			if heading != "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintln(w, h)
			heading = h
		}
		line(w, r)
	}
	fmt.Fprintf(w, "\n%d checks: %d fine, %d warnings, %d errors, %d could not be made\n",
		len(results), results.Count(check.OK), results.Count(check.Warning), results.Count(check.Error), results.Count(check.Skipped))
}

func line(w io.Writer, r check.Result) {
	way := ""
	if r.From != "" {
		way = " from " + r.From + " to " + r.To
	}
	message := ""
	if r.Message != "" && r.Status == check.OK {
		message = ": " + r.Message
	}
	fmt.Fprintf(w, "%s %s %s%s%s\n", marks[r.Status], r.ID, r.Title, way, message)
	if r.Status == check.OK {
		return
	}
	fmt.Fprintf(w, "    %s\n", r.Message)
	if r.Hint != "" {
		fmt.Fprintf(w, "    do: %s\n", r.Hint)
	}
	if r.Status != check.Skipped {
		fmt.Fprintf(w, "    see: %s\n", r.Documentation)
	}
}
