package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// agentHeap returns the live heap of the importer's agent, in MiB.
func (r *Run) agentHeap(ctx context.Context) (float64, error) {
	metrics, err := r.Bed.AgentMetrics(ctx, importer)
	return metrics.Sum("go_memstats_heap_alloc_bytes") / mib, err
}

// memory compares an agent that has imported everything with a bare informer of the same
// slices.
func memory(ctx context.Context, r *Run, c *figure.Case) error {
	before, err := r.agentHeap(ctx)
	if err != nil {
		return err
	}
	program, _, err := r.bareInformer(true)
	if err != nil {
		return err
	}
	if _, err := r.imported(ctx); err != nil {
		return err
	}
	// The agent releases its peak memory only after a while, so the agent is restarted.
	if err := errors.Join(r.Bed.Agents(ctx, r.Bed.Lab.Kill, importer), r.Bed.Agents(ctx, r.Bed.Lab.Start, importer)); err != nil {
		return err
	}
	if err := r.Bed.AgentsReady(ctx); err != nil {
		return err
	}
	if err := bed.Pause(ctx, 2*calm); err != nil { // live exports have priority over the agent's initial list
		return err
	}
	heap, err := r.agentHeap(ctx)
	if err != nil {
		return err
	}
	process, err := r.Bed.AgentMemory(importer)
	if err != nil {
		return err
	}
	bare, _, err := r.bareInformer(false)
	if err != nil {
		return err
	}
	if slices := r.sized(fleetSlices); bare.Slices != slices {
		return fmt.Errorf("the bare informer holds %d slices, not %d", bare.Slices, slices)
	}
	c.Notes = append(c.Notes, fmt.Sprintf("%d endpoints in %d slices from %d clusters are imported", r.sized(fleetEndpoints), bare.Slices, fleetSize),
		fmt.Sprintf("the bare informer's program has %.1f MiB without slices", float64(program.Heap)/mib))
	on := func(name string, value, floor float64) figure.Figure {
		return figure.Once(name, figure.MiB, value, floor/mib)
	}
	c.Add(
		on("live heap", heap, float64(bare.Heap)).AtMostFloors(2).
			Because("the floor is a program that holds client-go's informer cache of the same slices on the broker and nothing else"),
		on("of that, for the imports", heap-before, float64(bare.Heap)-float64(program.Heap)),
		on("memory of the process", float64(process)/mib, float64(bare.Memory)).Because("after a restart"),
	)
	return nil
}

// restart measures how an agent catches up with changes that were made while it was down.
func restart(ctx context.Context, r *Run, c *figure.Case) error {
	observer, err := r.imported(ctx)
	if err != nil {
		return err
	}
	var bare, current []time.Duration
	var others string
	written := 0
	for block := range r.Blocks {
		r.Say("restart: %d of %d", block+1, r.Blocks)
		_, synced, err := r.bareInformer(false)
		if err != nil {
			return err
		}
		bare = append(bare, synced)
		if err := r.Bed.Agents(ctx, r.Bed.Lab.Kill, importer); err != nil {
			return err
		}
		changed, err := r.changeAll(ctx, freshAddresses+block*fleetSize)
		if err != nil {
			return err
		}
		writes, err := r.counted(ctx, func() error {
			began := time.Now()
			if err := r.Bed.Agents(ctx, r.Bed.Lab.Start, importer); err != nil {
				return err
			}
			last, err := observer.Await(ctx, changed...)
			current = append(current, last.Sub(began))
			return err
		})
		if err != nil {
			return err
		}
		written += len(ofSlices(slices.Concat(writes[importer], writes[lab.Broker])))
		others = kinds(writes[importer]) + "; on the broker: " + kinds(writes[lab.Broker])
	}
	c.Add(
		figure.Times("until it has followed one change of each cluster", figure.Seconds, current, bare).AtMost(10).
			Because("from the start of the process; the floor is a bare informer's time until it has the same slices"),
		figure.Once("writes of slices", figure.Writes, float64(written)).Exactly(float64(r.Blocks*fleetSize)).
			Because("in the importing cluster: "+others),
	)
	return nil
}

// changeAll changes an endpoint in each simulated cluster, and returns the marks of the
// changes.
func (r *Run) changeAll(ctx context.Context, first int) (changed []bed.Mark, err error) {
	onBroker, err := bed.Observe(ctx, r.Bed.On[lab.Broker], "")
	if err != nil {
		return nil, err
	}
	for i, s := range r.fleet.services {
		member := r.fleet.members[i].Client
		slice := s.Slices()[0]
		if err := member.Get(ctx, client.ObjectKeyFromObject(slice), slice); err != nil {
			return nil, err
		}
		slice.Endpoints[0] = bed.Endpoint(s.Namespace, first+i)
		changed = append(changed, bed.Appeared(slice.Endpoints[0].Addresses[0]))
		if err := member.Update(ctx, slice); err != nil {
			return nil, err
		}
	}
	if _, err := onBroker.Await(ctx, changed...); err != nil {
		return nil, fmt.Errorf("on the broker: %w", err)
	}
	return changed, nil
}
