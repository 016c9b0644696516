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
	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

// options are the flags.
type options struct {
	target.Several
	format output.Format
	bench.Options
}

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "bench CONTEXT CONTEXT...",
		Short: "Measure how long exports and changes take to reach other clusters",
		Long: `Measures, between the clusters that are named, how long it takes from the first one to each of the others:

  export    from a ServiceExport until the ServiceImport has its clusterset IP and all endpoints
  change    from an EndpointSlice with another endpoint until that is there
  unexport  from the end of the ServiceExport until the ServiceImport is gone

Each round does so with a Service of its own, whose endpoints are made up: there are no pods, and no
connections. Times are taken by this machine's clock, from the request to the watch event: run it where
the way to the clusters is short. How long a small request takes from here stands above the table.

Beside each figure stands its floor, measured by turns with it: the same objects are written in the same
places by this program, each as soon as a watch has shown the one before, and nothing is decided or
compared. RATIO is the median by the floor's. It leads over the broker where --broker-context names a
context with the right to make a namespace there, and otherwise straight from cluster to cluster, which is
less than any clusterset with a broker can do. Whoever reads the figures should see both: times differ between
machines, ratios less so.

It makes a namespace in each cluster, and with --broker-context one on the broker, with a Service or two
in it at a time, and takes them away again, also when it is interrupted. It needs the rights to do that,
and to make ServiceImports, for the floor.`,
		Example: `  atoll bench c1 c2 c3 --broker-context broker
  atoll bench c1 c2 --rounds 100 -o json > bench.json
  atoll bench c1 c2 --no-floor`,
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd, args) },
	}
	flags := command.Flags()
	o.AddFlags(flags)
	flags.StringVar(&o.BrokerContext, "broker-context", "", "context of the broker's API server, for a floor that leads over it")
	flags.BoolVar(&o.NoFloor, "no-floor", false, "measure without a floor, and make no ServiceImports")
	flags.IntVar(&o.Rounds, "rounds", 20, "how often to measure, 1000 at most; one more comes first and does not count")
	flags.IntVar(&o.Endpoints, "endpoints", 10, "how many endpoints a Service has, 100 at most")
	flags.DurationVar(&o.Pause, "pause", 500*time.Millisecond, "how long to wait before each thing; with less, changes come one upon the other, which agents space out")
	flags.DurationVar(&o.Patience, "wait", 30*time.Second, "how long one thing may take")
	flags.DurationVar(&o.Timeout, "timeout", 10*time.Minute, "how long all of it may take, without cleaning up, which takes a minute at most")
	output.AddFlag(flags, &o.format, output.Table, output.JSON, output.YAML)
	return command
}

func (o *options) run(cmd *cobra.Command, contexts []string) error {
	if err := o.Validate(); err != nil {
		return fmt.Errorf("%w: %w", target.ErrUsage, err)
	}
	if o.BrokerContext != "" {
		broker := target.Cluster{Kubeconfig: o.Kubeconfig, Context: o.BrokerContext}
		config, err := broker.Config()
		if err != nil {
			return fmt.Errorf("--broker-context: %w", err)
		}
		o.Broker = config
	}
	members, err := o.Members(cmd.Context(), contexts, "")
	if err != nil {
		return err
	}
	o.Say = steps.Say(cmd)
	report, err := bench.Run(cmd.Context(), members, o.Options)
	if err != nil && report.Rounds == 0 {
		return err // there is nothing to show
	}
	done, failed := o.format.Structured(cmd.OutOrStdout(), report)
	if !done {
		failed = print(cmd.OutOrStdout(), report)
	}
	return errors.Join(err, failed)
}

// print writes a table, with what has to be known of it above and below.
func print(w io.Writer, r bench.Report) error {
	fmt.Fprintf(w, "%s to %s, %d rounds, %d endpoints\n", r.From, strings.Join(r.To, ", "), r.Rounds, r.Endpoints)
	var ways []string
	for _, t := range r.RoundTrips {
		ways = append(ways, t.Cluster+" "+milliseconds(t.Milliseconds))
	}
	fmt.Fprintf(w, "a small request from here takes: %s\n\n", strings.Join(ways, ", "))
	columns := []output.Column[bench.Figure]{
		{Header: "WHAT", Of: func(f bench.Figure) string { return f.What }},
		{Header: "TO", Of: func(f bench.Figure) string { return f.To }},
		{Header: "P50", Of: func(f bench.Figure) string { return milliseconds(f.Atoll.P50) }},
		{Header: "P99", Of: func(f bench.Figure) string { return milliseconds(f.Atoll.P99) }},
	}
	if r.Floor != bench.None {
		columns = append(columns,
			output.Column[bench.Figure]{Header: "FLOOR P50", Of: func(f bench.Figure) string { return quantile(f.Floor, func(s *spread.Spread) float64 { return s.P50 }) }},
			output.Column[bench.Figure]{Header: "FLOOR P99", Of: func(f bench.Figure) string { return quantile(f.Floor, func(s *spread.Spread) float64 { return s.P99 }) }},
			output.Column[bench.Figure]{Header: "RATIO", Of: ratio},
		)
	}
	if err := output.Rows(w, output.Table, r.Figures, func(f bench.Figure) string { return f.What }, columns...); err != nil {
		return err
	}
	for _, n := range r.Notes {
		fmt.Fprintf(w, "\n%s\n", n)
	}
	return nil
}

func milliseconds(ms float64) string { return fmt.Sprintf("%.1f ms", ms) }

func quantile(s *spread.Spread, of func(*spread.Spread) float64) string {
	if s == nil {
		return "-"
	}
	return milliseconds(of(s))
}

func ratio(f bench.Figure) string {
	if f.Ratio == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *f.Ratio)
}
