// Command bench compares Atoll with baselines that it measures in the same run.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/cases"
	"github.com/atoll-mcs/atoll/test/bench/child"
	"github.com/atoll-mcs/atoll/test/bench/dns"
	"github.com/atoll-mcs/atoll/test/bench/failover"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/bench/lb"
)

func main() {
	klog.SetLogger(logr.Discard()) // the simulated agents' client-go
	log.SetLogger(logr.Discard())  // controller-runtime's clients
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// all lists all cases. The cases of a package run together.
var all = slices.Concat(cases.All, dns.Cases, lb.Cases, failover.Cases)

// roles are the functions of this program as a child process.
var roles = map[string]child.Role{
	cases.RoleInformer: cases.Informer, cases.RoleFirstSync: cases.FirstSync, dns.RoleServer: dns.Server, lb.RoleServer: lb.Server, lb.RoleForwarder: lb.Forwarder,
	failover.RoleClient: failover.Client, failover.RoleHolder: failover.Holder,
}

// options are the command-line options.
type options struct {
	cases.Settings
	cases    []string
	programs string
	name     string
	results  string
	quick    bool
}

func newCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "bench [--case CASE,…]",
		Short: "Measure Atoll against a floor that is measured in the same run",
		Long: `Measures Atoll beside floors of the same run, in alternating blocks. Most cases start a lab
of API servers with real agents; their floor is the same chain of writes and watches on the
same API servers, without any logic. Times differ between machines, so the ratio counts.

Progress goes to standard error, tables to standard output. The exit code is 1 if a case fails
or, without --quick, misses a target.

Cases:
` + list(),
		Example: `  make bench                                      # all but the extra cases
  go run ./test/bench --case endpoint --rounds 200
  go run ./test/bench --quick                     # small sizes: does it work?`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.cases, "case", nil, "cases to run, or all; without it, all but the extra ones")
	flags.StringVar(&o.programs, "bin", "bin", "folder with the programs atoll and atoll-agent, which make build builds")
	flags.StringVar(&o.name, "name", fmt.Sprintf("bench-%d", os.Getpid()), "name of the lab")
	flags.IntVar(&o.Rounds, "rounds", 50, "how many times a short thing is measured in each block")
	flags.IntVar(&o.Blocks, "blocks", 3, "how many blocks there are for the floor and for Atoll")
	flags.Float64Var(&o.Seconds, "seconds", 1, "how long traffic lasts in each block of the cases dns and lb")
	flags.IntSliceVar(&o.Services, "services", []int{1_000, 50_000}, "how many services the case dns has, in growing order")
	flags.StringVar(&o.results, "results", "", "file to write with the results, as JSON")
	flags.BoolVar(&o.quick, "quick", false, "a tenth of the sizes and few rounds, to see whether it works; its figures say little")
	command.AddCommand(child.NewCommand(roles))
	return command
}

func list() string {
	var b strings.Builder
	for _, c := range all {
		extra := ""
		if c.Extra {
			extra = " (extra)"
		}
		fmt.Fprintf(&b, "  %-11s %s%s\n", c.Name, c.About, extra)
	}
	return b.String()
}

// chosen returns the cases to run, in their order.
func (o options) chosen() (chosen []cases.Case, err error) {
	for _, name := range o.cases {
		if name != "all" && !slices.ContainsFunc(all, func(c cases.Case) bool { return c.Name == name }) {
			return nil, fmt.Errorf("--case: there is no case %q; the cases are:\n%s", name, list())
		}
	}
	for _, c := range all {
		if slices.Contains(o.cases, "all") || slices.Contains(o.cases, c.Name) || len(o.cases) == 0 && !c.Extra {
			chosen = append(chosen, c)
		}
	}
	return chosen, nil
}

// run runs the cases. Cases that are not extra run on a bed.
func (o options) run(ctx context.Context, out, progress io.Writer) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	if o.Rounds < 1 || o.Blocks < 1 || o.Seconds <= 0 {
		return errors.New("--rounds, --blocks and --seconds have to be above 0")
	}
	o.Scale = 1
	if o.quick {
		o.Rounds, o.Blocks, o.Scale, o.Services = min(o.Rounds, 5), 1, 0.1, []int{1_000}
	}
	began := time.Now()
	r := &cases.Run{Settings: o.Settings, Name: o.name, Programs: o.programs, Say: func(format string, args ...any) {
		fmt.Fprintf(progress, "%5.0fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
	}}
	extra := slices.IndexFunc(chosen, func(c cases.Case) bool { return c.Extra })
	if extra < 0 {
		extra = len(chosen)
	}
	if extra > 0 {
		if r.Bed, err = bed.Up(ctx, bed.Options{Name: o.name, Programs: o.programs, Clusters: 2, Progress: progress}); err != nil {
			return err
		}
		err = errors.Join(r.Do(ctx, chosen[:extra], out), r.Bed.Down(context.WithoutCancel(ctx)))
	}
	err = errors.Join(err, r.Do(ctx, chosen[extra:], out))
	return errors.Join(err, o.write(r.Results))
}

// write writes the file of results, if one is wanted.
func (o options) write(results []figure.Result) error {
	if o.results == "" {
		return nil
	}
	text, err := json.MarshalIndent(results, "", " ")
	if err != nil {
		return fmt.Errorf("the results as JSON: %w", err)
	}
	return os.WriteFile(o.results, append(text, '\n'), 0o644)
}
