// Package bench is the command `atoll bench`.
package bench

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/bench"
)

type options struct {
	target.Scoped
	format output.Format
	bench.Options
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "bench CONTEXT CONTEXT...",
		Short: "Measure how long exports and changes take to reach other clusters",
		Long: `Measures how long these changes take from the first cluster to each of the other clusters:

  export    from a ServiceExport until the ServiceImport has its clusterset IP and all endpoints
  change    from a change of an EndpointSlice until the other cluster has the change
  unexport  from the deletion of the ServiceExport until the ServiceImport is gone

Each round uses a new Service with generated endpoint addresses. The command creates no pods and no connections.
This machine measures the time from its request until its watch reports the result. Run the command close to
the clusters. The line above the table shows how long a small request from this machine takes.

REQUESTS is the median divided by the duration of a small request to that cluster. This number depends less on
machines and networks than the measured times.

The command creates a namespace in each cluster and tests one Service at a time in the namespace. It deletes
the namespaces when it ends, even if you interrupt it.`,
		Example: `  atoll bench c1 c2 c3
  atoll bench c1 c2 --rounds 100 -o json > bench.json`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	o.AddAllFlag(flags)
	flags.IntVar(&o.Rounds, "rounds", 20, "number of measured rounds, at most 1000; the command makes one warm-up round first")
	flags.IntVar(&o.Endpoints, "endpoints", 10, "number of endpoints of each Service, at most 100")
	flags.DurationVar(&o.Pause, "pause", 500*time.Millisecond, "pause before each change; agents batch changes that follow each other too quickly")
	flags.DurationVar(&o.RoundTimeout, "wait", 30*time.Second, "maximum duration of one measurement")
	flags.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "maximum duration without the clean-up; the clean-up takes at most another minute")
	output.AddFlag(flags, &o.format, output.Table, output.JSON, output.YAML)
	return command
}

func (o *options) run(cmd *cobra.Command, contexts []string) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%w: %w", target.ErrUsage, err)
	}
	members, err := o.Members(cmd.Context(), contexts, "")
	if err != nil {
		return err
	}
	o.Say = steps.Say(cmd)
	report, err := bench.Run(cmd.Context(), members, o.Options)
	if err != nil && report.Rounds == 0 {
		return err // there is no result
	}
	return errors.Join(err, output.Write(cmd.OutOrStdout(), o.format, report, print))
}

// print writes a table, with explanations above and below.
func print(w io.Writer, r bench.Report) error {
	fmt.Fprintf(w, "%s to %s, %d rounds, %d endpoints\n", r.From, strings.Join(r.To, ", "), r.Rounds, r.Endpoints)
	var ways []string
	for _, t := range r.RoundTrips {
		ways = append(ways, t.Cluster+" "+milliseconds(t.Milliseconds))
	}
	fmt.Fprintf(w, "a small request from this machine takes: %s\n\n", strings.Join(ways, ", "))
	table := output.NewTable(w, "WHAT", "TO", "P50", "P99", "REQUESTS")
	for _, f := range r.Figures {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%.1f\n", f.What, f.To, milliseconds(f.Took.P50), milliseconds(f.Took.P99), f.Requests)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
	return nil
}

func milliseconds(ms float64) string { return fmt.Sprintf("%.1f ms", ms) }
