// Package check is the command `atoll check`.
package check

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/join"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

type options struct {
	target.Scoped
	format   output.Format
	joinFile string
	registry string
	checkup.Options
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "check [CONTEXT...]",
		Short: "Check whether clusters can join a clusterset, and whether members work correctly",
		Long: `Checks one or more clusters and the network between the clusters. The checks cover API servers,
permissions, Atoll's programs, the connection to the broker, clocks, address ranges, routing of Services,
DNS, and real connections between clusters. The command creates a namespace with two small test pods in each
cluster, and deletes the namespace at the end.

In the context of a broker, the command checks whether the broker still limits what members may write.

With --pre, the command checks whether clusters can join, before you install Atoll. With --join-file, the
command also checks whether pods reach the broker of the join file.

  √  passed
  ‼  a warning: Atoll works, with limitations
  ×  an error, with the fix and a link to the documentation
  –  skipped: the check could not run

On terminals, the output has colours unless NO_COLOR is set. The exit status is 79 if a check failed.`,
		Example: `  atoll check --pre c1 c2 c3
  atoll check --pre --join-file c1.join --context c1
  atoll check c1 c2 c3
  atoll check broker
  atoll check -o json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	o.AddAllFlag(flags)
	flags.BoolVar(&o.Before, "pre", false, "check whether the clusters can join a clusterset")
	flags.StringVar(&o.joinFile, "join-file", "", "with --pre: a join file of the broker that the clusters will use")
	flags.BoolVar(&o.NoPods, "no-pods", false, "do not create test pods, and skip the checks that need test pods")
	target.AddImageFlag(flags, &o.Image)
	flags.StringVar(&o.registry, "registry", "", "registry of the test pods' image, as in atoll broker deploy")
	flags.DurationVar(&o.Timeout, "timeout", 3*time.Minute, "maximum duration")
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
		o.JoinFile, o.registry = &file, cmp.Or(o.registry, file.Registry)
	}
	if o.Image == "" && o.registry != "" {
		o.Image = render.Member{Registry: o.registry}.AgentImage()
	}
	o.Options.Broker, o.Say = o.Scoped.Broker(), steps.Say(cmd)
	ctx, cancel := context.WithTimeout(cmd.Context(), o.Timeout)
	defer cancel()
	p := printer{w: cmd.OutOrStdout()}
	if o.format == output.Table && !o.NoPods { // show the checks that need no pods without waiting
		o.Read = func(e check.Evidence) {
			p.print(slices.DeleteFunc(check.Evaluate(e), func(r check.Result) bool { return r.ID.NeedsPods() }))
		}
	}
	evidence, problems := checkup.Gather(ctx, clusters, o.Options)
	for _, err := range problems {
		fmt.Fprintln(cmd.ErrOrStderr(), "cleaning up the test pods:", err)
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("the checks ended before all results were available (--timeout %v): %w", o.Timeout, err)
	}
	results := check.Evaluate(*evidence)
	err = output.Write(cmd.OutOrStdout(), o.format, results, func(_ io.Writer, results check.Results) error {
		rest := results
		if o.Read != nil {
			rest = slices.DeleteFunc(slices.Clone(results), func(r check.Result) bool { return !r.ID.NeedsPods() })
		}
		p.print(rest)
		p.count(results)
		return nil
	})
	if err != nil {
		return err
	}
	if results.Count(check.Error) > 0 {
		return target.Exit(target.ExitFailed)
	}
	return nil
}

var marks = map[check.Status]output.Mark{check.OK: output.Good, check.Warning: output.Warning, check.Error: output.Bad, check.Skipped: output.Skipped}

// printer writes results under headings, as they arrive.
type printer struct {
	w       io.Writer
	heading string
}

func (p *printer) print(results check.Results) {
	for _, r := range results {
		heading := r.Subject
		if r.Cluster != "" {
			heading = "cluster " + printable.Line(r.Cluster) + ", " + r.Subject
		}
		if heading != p.heading {
			if p.heading != "" {
				fmt.Fprintln(p.w)
			}
			fmt.Fprintln(p.w, heading)
			p.heading = heading
		}
		line(p.w, r)
	}
}

// count writes the number of results of each kind.
func (p *printer) count(results check.Results) {
	fmt.Fprintf(p.w, "\n%d checks: %d passed, %d warnings, %d errors, %d skipped\n",
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
	fmt.Fprintf(w, "%s %s %s%s\n", marks[r.Status].On(w), r.ID, r.Title, printable.Line(way+message))
	if r.Status == check.OK {
		return
	}
	fmt.Fprintf(w, "    %s\n", printable.Line(r.Message))
	if r.Hint != "" {
		fmt.Fprintf(w, "    do: %s\n", printable.Line(r.Hint))
	}
	if r.Status != check.Skipped {
		fmt.Fprintf(w, "    see: %s\n", r.Documentation)
	}
}
