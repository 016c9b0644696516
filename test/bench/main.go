// Command bench measures Atoll against floors that are measured in the same run.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/klog/v2"

	"github.com/atoll-mcs/atoll/internal/version"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/cases"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

func main() {
	klog.SetLogger(logr.Discard()) // the simulated agents' client-go
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what a person chooses.
type options struct {
	cases    []string
	programs string
	name     string
	rounds   int
	blocks   int
	quick    bool
	profiles string
}

func newCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "bench [--case CASE,…]",
		Short: "Measure Atoll against a floor that is measured in the same run",
		Long: `Starts a lab of API servers with real agents, and measures what Atoll does in it. Beside
each figure stands its floor: the same chain of writes and watches, on the same API
servers in the same run, without any logic. What is reported is the ratio, for times
differ between machines.

Progress and tables go to standard error, one JSON document to standard output. The
programs of Atoll are taken from --bin; "make bench" builds them first. The exit code is
1 where a case fails or, but with --quick, misses a target.

Cases:
` + list(),
		Example: `  make bench                                      # all but the extra cases
  go run ./test/bench --case endpoint --rounds 200
  go run ./test/bench --quick                     # small sizes: does it work?
  sudo go run ./test/bench --case growth,rest,cost # what docs/scale.md shows`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.StringSliceVar(&o.cases, "case", nil, "cases to run, or all; without it, all but the extra ones")
	flags.StringVar(&o.programs, "bin", "bin", "folder with the programs atoll and atoll-agent")
	flags.StringVar(&o.name, "name", fmt.Sprintf("bench-%d", os.Getpid()), "name of the lab")
	flags.IntVar(&o.rounds, "rounds", 50, "how many times in each block a short thing is measured")
	flags.IntVar(&o.blocks, "blocks", 3, "how many times the floor and Atoll are measured by turns")
	flags.BoolVar(&o.quick, "quick", false, "a tenth of the sizes and few rounds, to see whether it works; its figures say little")
	flags.StringVar(&o.profiles, "profiles", "", "folder for profiles of the cases burst, create, rolling and memory: CPU of an agent and of all API servers, allocations and heap of the agent; taking them costs some time")
	command.AddCommand(newInformer())
	return command
}

func list() string {
	var b strings.Builder
	for _, c := range cases.All {
		extra := ""
		if c.Extra {
			extra = " (extra)"
		}
		if c.Nodes {
			extra = " (extra; as root)"
		}
		fmt.Fprintf(&b, "  %-10s%s%s\n", c.Name, c.About, extra)
	}
	return b.String()
}

// newInformer is the program whose memory is the floor of an agent's.
func newInformer() *cobra.Command {
	var kubeconfig, kubeContext string
	var empty bool
	command := &cobra.Command{
		Use: "informer", Short: "Hold a bare informer's cache of a broker's EndpointSlices until standard input ends", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return cases.RunInformer(cmd.Context(), kubeconfig, kubeContext, empty, cmd.InOrStdin(), cmd.OutOrStdout())
		},
	}
	command.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig file")
	command.Flags().StringVar(&kubeContext, "context", "", "context in it")
	command.Flags().BoolVar(&empty, "empty", false, "select no slices")
	return command
}

// chosen returns the cases to run, in their order.
func (o options) chosen() ([]cases.Case, error) {
	known := map[string]bool{}
	var chosen []cases.Case
	all := slices.Contains(o.cases, "all")
	for _, c := range cases.All {
		known[c.Name] = true
		if all || slices.Contains(o.cases, c.Name) || len(o.cases) == 0 && !c.Extra {
			chosen = append(chosen, c)
		}
	}
	for _, name := range o.cases {
		if name != "all" && !known[name] {
			return nil, fmt.Errorf("--case: there is no case %q; the cases are:\n%s", name, strings.TrimRight(list(), "\n"))
		}
	}
	return chosen, nil
}

func (o options) run(ctx context.Context, out, progress io.Writer) error {
	chosen, err := o.chosen()
	if err != nil {
		return err
	}
	for _, program := range []string{"atoll", "atoll-agent"} {
		if _, err := os.Stat(filepath.Join(o.programs, program)); err != nil {
			return fmt.Errorf("--bin: there is no program %s in %s: build it with make build", program, o.programs)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	settings := cases.Settings{Rounds: o.rounds, Blocks: o.blocks, Scale: 1, Profiles: o.profiles, Self: []string{self, "informer"}}
	if o.quick {
		settings.Rounds, settings.Blocks, settings.Scale = min(o.rounds, 5), 1, 0.1
	}
	report := figure.Report{Version: version.String(), Started: time.Now(), Arguments: os.Args[1:], Machine: figure.ThisMachine()}
	failed := o.runCases(ctx, settings, chosen, progress, func(c figure.Case) {
		c.Print(progress)
		report.Cases = append(report.Cases, c)
	})
	report.Seconds = time.Since(report.Started).Seconds()
	for _, c := range report.Cases {
		if c.Error != "" {
			failed = errors.Join(failed, fmt.Errorf("the case %s has failed, as is said above", c.Name))
		}
		if missed := c.Missed(); missed > 0 && !o.quick { // of small sizes times say little
			failed = errors.Join(failed, fmt.Errorf("the case %s misses %d of its targets, as is said above", c.Name, missed))
		}
	}
	return errors.Join(report.WriteJSON(out), failed)
}

// runCases makes a lab for the cases without nodes, and another one for those with.
func (o options) runCases(ctx context.Context, settings cases.Settings, chosen []cases.Case, progress io.Writer, found func(figure.Case)) error {
	for _, nodes := range []bool{false, true} {
		some := slices.DeleteFunc(slices.Clone(chosen), func(c cases.Case) bool { return c.Nodes != nodes })
		if len(some) == 0 {
			continue
		}
		b, err := bed.Up(ctx, bed.Options{Name: o.name, Programs: o.programs, Clusters: 2, Nodes: nodes, Progress: progress})
		if err != nil {
			return err
		}
		began := time.Now()
		r := &cases.Run{Settings: settings, Bed: b, Say: func(format string, args ...any) {
			fmt.Fprintf(progress, "%5.0fs  %s\n", time.Since(began).Seconds(), fmt.Sprintf(format, args...))
		}}
		if err := errors.Join(r.Do(ctx, some, found), b.Down(context.WithoutCancel(ctx))); err != nil {
			return err
		}
	}
	return nil
}
