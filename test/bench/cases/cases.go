// Package cases are the cases of the benchmark: each measures one thing that Atoll does,
// and beside it the floor, what the same writes and watches cost without any logic.
package cases

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/bench/floor"
)

// The clusters that cases use: exports go from the one to the other.
const (
	exporter = "c1"
	importer = "c2"
)

// Settings are what a person chooses about a run.
type Settings struct {
	// Rounds is how many times a quick thing is measured, in each of Blocks blocks.
	Rounds, Blocks int
	// Scale is the part of the full sizes that is tried: 1, or less for a quick run.
	Scale float64
	// Profiles is the folder that agents' profiles are written to; "" for none.
	Profiles string
	// Self is this program, and its arguments, that make it the bare informer.
	Self []string
}

// Run is one run of the benchmark.
type Run struct {
	Settings
	// Bed is where everything happens.
	Bed *bed.Bed
	// Say tells a person what is going on.
	Say func(format string, args ...any)

	fleet *fleet
}

// Case is one thing that can be measured.
type Case struct {
	Name, About string
	// Extra cases run only when they are asked for.
	Extra bool
	// Nodes is whether it needs a lab with nodes and pods, and so root.
	Nodes bool
	// Limit is when it is given up.
	Limit time.Duration
	Do    func(context.Context, *Run, *figure.Case) error
}

// All are the cases in the order in which they are run: those that measure small times
// come before those that leave much behind.
var All = []Case{
	{Name: "export", About: "one export, until another cluster can use it", Limit: 5 * time.Minute, Do: oneExport},
	{Name: "burst", About: "200 exports at once", Limit: 8 * time.Minute, Do: burst},
	{Name: "endpoint", About: "one endpoint's change", Limit: 5 * time.Minute, Do: oneEndpoint},
	{Name: "successive", About: "changes of one endpoint of a large service that follow each other", Limit: 5 * time.Minute, Do: successive},
	{Name: "create", About: "one service of 20,000 endpoints in 200 slices", Limit: 8 * time.Minute, Do: create},
	{Name: "rolling", About: "rolling replacement of 2,000 endpoints in 20 slices", Limit: 10 * time.Minute, Do: rolling},
	{Name: "interest", About: "what an agent holds and gets of what its cluster does not import", Limit: 10 * time.Minute, Do: interest},
	{Name: "memory", About: "an agent with 100,000 imported endpoints", Limit: 10 * time.Minute, Do: memory},
	{Name: "restart", About: "an agent's restart with 1,500 slices from 40 clusters on the broker", Limit: 10 * time.Minute, Do: restart},
	{Name: "writes", About: "writes, watch events and bytes for the sample cases of KEP-0752, with clusters for nodes", Limit: 15 * time.Minute, Do: writes},
	{Name: "pacing", About: "what holding changes back saves in a rolling update, and what it costs", Extra: true, Limit: 12 * time.Minute, Do: pacing},
	{Name: "growth", About: "what broker and agents need with more clusters, services and endpoints", Extra: true, Limit: 40 * time.Minute, Do: growth},
	{Name: "rest", About: "what heartbeats cost the broker where nothing else happens, with up to 200 clusters", Extra: true, Limit: 10 * time.Minute, Do: rest},
	{Name: "cost", About: "what 100,000 imported endpoints cost their cluster", Extra: true, Nodes: true, Limit: 20 * time.Minute, Do: cost},
}

// do runs one case within its limit.
func (c Case) do(ctx context.Context, r *Run) figure.Case {
	result := figure.Case{Name: c.Name, About: c.About}
	began := time.Now()
	ctx, cancel := context.WithTimeout(ctx, c.Limit)
	defer cancel()
	err := c.Do(ctx, r, &result)
	result.Seconds = time.Since(began).Seconds()
	if err != nil {
		result.Error = err.Error()
	}
	return result
}

// Do runs cases one after the other on the run's bed, and hands out what each has found.
func (r *Run) Do(ctx context.Context, cases []Case, found func(figure.Case)) error {
	for _, c := range cases {
		if ctx.Err() != nil {
			break
		}
		r.Say("== %s: %s", c.Name, c.About)
		found(c.do(ctx, r))
	}
	return errors.Join(ctx.Err(), r.fleet.stop())
}

// sized is a size, scaled for a quick run.
func (r *Run) sized(full int) int { return max(1, int(float64(full)*r.Scale)) }

// side is one of the two things that are compared, in one cluster and the other.
type side struct {
	name      string
	from, to  client.WithWatch
	namespace string
}

// compare measures the floor and Atoll by turns, Blocks times, so that both meet the same
// machine. Agents do not run while the floor is measured.
func (r *Run) compare(ctx context.Context, name string, bare bool, measure func(context.Context, side, int) error) error {
	floored := side{"floor", r.Bed.On[exporter], r.Bed.On[importer], "floor-" + name}
	atoll := side{"atoll", r.Bed.On[exporter], r.Bed.On[importer], "bench-" + name}
	for _, s := range []side{floored, atoll} {
		if err := r.Bed.Namespace(ctx, s.namespace, r.Bed.Members...); err != nil {
			return err
		}
	}
	if err := r.Bed.Namespace(ctx, floored.namespace, lab.Broker); err != nil {
		return err
	}
	for block := range r.Blocks {
		r.Say("%s: block %d of %d, floor", name, block+1, r.Blocks)
		if err := r.onFloor(ctx, floored, bare, block, measure); err != nil {
			return fmt.Errorf("measuring the floor: %w", err)
		}
		r.Say("%s: block %d of %d, atoll", name, block+1, r.Blocks)
		if err := measure(ctx, atoll, block); err != nil {
			return fmt.Errorf("measuring atoll: %w", err)
		}
	}
	return nil
}

// onFloor measures the floor while the agents rest.
func (r *Run) onFloor(ctx context.Context, s side, bare bool, block int, measure func(context.Context, side, int) error) error {
	if err := r.Bed.StopAgents(ctx); err != nil {
		return err
	}
	chain := &floor.Chain{From: s.from, Broker: r.Bed.On[lab.Broker], To: s.to, Namespace: s.namespace, Bare: bare}
	while, stop, err := chain.Run(ctx)
	if err == nil {
		err = measure(while, s, block)
		stop()
		err = errors.Join(err, chain.Clear(context.WithoutCancel(ctx)))
	}
	if err := errors.Join(err, r.Bed.StartAgents(ctx)); err != nil {
		return err
	}
	return r.Bed.AgentsReady(ctx)
}

// clear takes back what was exported in a side's namespace, and waits until it is gone in
// the importing cluster. The floor is cleared as a whole.
func (r *Run) clear(ctx context.Context, s side, o *bed.Observer, services ...bed.Service) error {
	if s.name != "atoll" {
		return nil
	}
	var whole, gone []bed.Mark
	for _, service := range services {
		whole = append(whole, bed.Usable(service.Name), bed.Endpoints(service.Name, service.Endpoints))
		gone = append(gone, bed.Gone(service.Name), bed.Endpoints(service.Name, 0))
	}
	if _, err := o.Await(ctx, whole...); err != nil {
		return err
	}
	o.Forget()
	if err := bed.Each(ctx, services, func(ctx context.Context, service bed.Service) error { return service.Unexport(ctx, s.from) }); err != nil {
		return err
	}
	if _, err := o.Await(ctx, gone...); err != nil {
		return err
	}
	return bed.Each(ctx, services, func(ctx context.Context, service bed.Service) error { return service.Delete(ctx, s.from) })
}

// profile writes profiles of a cluster's agent and of all API servers while do runs, if profiles
// are asked for.
func (r *Run) profile(ctx context.Context, name, cluster string, do func() error) error {
	if r.Profiles == "" {
		return do()
	}
	const cpu = "profile?seconds=10"
	var group errgroup.Group
	group.Go(func() error { return r.save(name + "-" + cluster + "-agent-cpu")(r.Bed.Profile(ctx, cluster, cpu)) })
	for server := range r.Bed.On {
		group.Go(func() error {
			return r.save(name + "-" + server + "-apiserver-cpu")(r.Bed.ServerProfile(ctx, server, cpu))
		})
	}
	err := errors.Join(do(), group.Wait())
	for _, what := range []string{"allocs", "heap?gc=1"} {
		kind, _, _ := strings.Cut(what, "?")
		err = errors.Join(err, r.save(name+"-"+cluster+"-agent-"+kind)(r.Bed.Profile(ctx, cluster, what)))
	}
	return err
}

// save returns what writes a profile to a file.
func (r *Run) save(file string) func(data []byte, err error) error {
	return func(data []byte, err error) error {
		if err != nil {
			return fmt.Errorf("taking a profile: %w", err)
		}
		if err := os.MkdirAll(r.Profiles, 0o755); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(r.Profiles, file+".pprof"), data, 0o644)
	}
}
