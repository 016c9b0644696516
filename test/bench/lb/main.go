// Command lb measures what forwarding costs: the providers embedded and haproxy beside
// connections that go to the server directly, in the same run. See docs/load-balancers.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/spread"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := newCommand().ExecuteContext(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench-lb:", err)
		os.Exit(1)
	}
}

// options are what a person chooses.
type options struct {
	rounds  int
	seconds float64
	clients int
}

func newCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "lb",
		Short: "Measure load balancers beside direct connections",
		Long: `Starts a server, and each load-balancer provider as a process of its own, all on this
machine's loopback, and sends them the same traffic by turns, several times: one connection
and several that read as much as they can, new connections with one request each, requests
over one connection, and datagrams.

The floor is the same traffic without a load balancer. Client, server and load balancer share
the machine's processors, which makes a load balancer look more expensive than one with a
machine of its own.

The tables go to standard error, one JSON document to standard output.`,
		Example: `  make bench-lb
  go run ./test/bench/lb --rounds 9 --seconds 2`,
		Args: cobra.NoArgs, SilenceUsage: true, SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	flags := command.Flags()
	flags.IntVar(&o.rounds, "rounds", 5, "how many times each is measured")
	flags.Float64Var(&o.seconds, "seconds", 1, "for how long each time")
	flags.IntVar(&o.clients, "clients", 8, "how many clients there are at a time, where there are several")
	command.AddCommand(newServer(), newForwarder())
	return command
}

func (o options) run(ctx context.Context, out, progress io.Writer) error {
	if o.rounds < 1 || o.seconds <= 0 || o.clients < 1 {
		return errors.New("--rounds, --seconds and --clients are to be above 0")
	}
	report := &figure.Report{Started: time.Now().UTC(), Arguments: os.Args[1:], Machine: figure.ThisMachine()}
	server, err := start("server")
	if err != nil {
		return err
	}
	defer server.stop()
	targets := []target{{name: "direct", address: server.address}}
	for _, provider := range []string{"embedded", "haproxy"} {
		f, err := start("forwarder", provider, server.address)
		if err != nil {
			return err
		}
		defer f.stop()
		targets = append(targets, target{name: provider, address: f.address})
	}
	for _, k := range kinds(o.clients) {
		c, err := o.measure(ctx, k, targets)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", k.name, err)
		}
		c.Print(progress)
		report.Cases = append(report.Cases, c)
	}
	report.Seconds = time.Since(report.Started).Seconds()
	return report.WriteJSON(out)
}

// target is where traffic is sent.
type target struct{ name, address string }

// measure sends one kind of traffic to all targets, by turns.
func (o options) measure(ctx context.Context, k kind, targets []target) (figure.Case, error) {
	began := time.Now()
	c := figure.Case{Name: k.name, About: k.about}
	values := map[string][]float64{}
	for range o.rounds {
		for _, t := range targets {
			if t.name == "haproxy" && k.udp {
				continue
			}
			value, err := k.run(ctx, t.address, time.Duration(o.seconds*float64(time.Second)))
			if err != nil {
				return c, fmt.Errorf("%s: %w", t.name, err)
			}
			values[t.name] = append(values[t.name], value)
		}
	}
	figureOf := func(name string) figure.Figure {
		over := spread.Of(values[name])
		return figure.Figure{Name: name, Unit: k.unit, Value: over.P50, Spread: &over}
	}
	for _, t := range targets[1:] {
		if _, measured := values[t.name]; measured {
			c.Add(figureOf(t.name).OnFloor(figureOf("direct")))
		}
	}
	if !slices.ContainsFunc(c.Figures, func(f figure.Figure) bool { return f.Name == "haproxy" }) {
		c.Notes = append(c.Notes, "HAProxy does not carry UDP.")
	}
	c.Seconds = time.Since(began).Seconds()
	return c, nil
}
