package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

const mib = 1 << 20

// agentMemory is what an agent has in memory.
type agentMemory struct{ heap, resident float64 }

func (r *Run) agentMemory(ctx context.Context, cluster string) (agentMemory, error) {
	metrics, err := r.Bed.AgentMetrics(ctx, cluster)
	if err != nil {
		return agentMemory{}, err
	}
	usage, err := r.Bed.Usage(cluster + "/agent")
	return agentMemory{heap: metrics.Sum("go_memstats_heap_alloc_bytes") / mib, resident: float64(usage.Memory) / mib}, err
}

// memory compares an agent that has imported everything with a bare informer of the same
// slices.
func memory(ctx context.Context, r *Run, c *figure.Case) error {
	before, err := r.agentMemory(ctx, importer)
	if err != nil {
		return err
	}
	program, err := r.bareInformer(ctx, true)
	if err != nil {
		return err
	}
	if err := r.populate(ctx); err != nil {
		return err
	}
	var observers []*bed.Observer
	if err := r.profile(ctx, "memory", importer, func() error {
		observers, err = r.imported(ctx, importer)
		return err
	}); err != nil {
		return err
	}
	endpoints := 0
	for _, o := range observers {
		endpoints += len(o.Addresses())
	}
	// What the agent had at its peak is given back to the machine in a while only; started
	// again, it needs what it needs.
	if err := errors.Join(r.Bed.StopAgents(ctx, importer), r.Bed.StartAgents(ctx, importer)); err != nil {
		return err
	}
	if err := r.Bed.AgentsReady(ctx); err != nil {
		return err
	}
	if err := bed.Pause(ctx, 2*calm); err != nil { // live exports come before what the agent finds at its start
		return err
	}
	after, err := r.agentMemory(ctx, importer)
	if err != nil {
		return err
	}
	bare, err := r.bareInformer(ctx, false)
	if err != nil {
		return err
	}
	if slices := r.sized(fleetSlices); bare.Slices != slices {
		return fmt.Errorf("the bare informer holds %d slices, not %d", bare.Slices, slices)
	}
	c.Notes = append(c.Notes, fmt.Sprintf("%d endpoints in %d slices from %d clusters are imported", endpoints, bare.Slices, fleetSize))
	c.Add(
		figure.New("live heap", figure.MiB, after.heap).OnFloor(figure.New("", figure.MiB, float64(bare.Heap)/mib)).AtMostFloors(2).
			Because("the floor is the heap of a program that holds client-go's informer cache of the same slices on the broker and nothing else; the agent knows its own cluster too"),
		figure.New("of that, for the imports", figure.MiB, after.heap-before.heap).
			OnFloor(figure.New("", figure.MiB, (float64(bare.Heap)-float64(program.Heap))/mib)),
		figure.New("memory of the process", figure.MiB, after.resident).
			OnFloor(figure.New("", figure.MiB, float64(bare.Memory)/mib)).Because("after a restart, with what the garbage collector keeps"),
	)
	return nil
}

// restart has an agent find what has changed while it was down.
func restart(ctx context.Context, r *Run, c *figure.Case) error {
	if err := r.populate(ctx); err != nil {
		return err
	}
	observers, err := r.imported(ctx, importer)
	if err != nil {
		return err
	}
	floored, found := samples{}, samples{}
	var others string
	var written, changed int
	for block := range r.Blocks {
		r.Say("restart: %d of %d", block+1, r.Blocks)
		bare, err := r.bareInformer(ctx, false)
		if err != nil {
			return err
		}
		floored.add("floor", "synced", bare.Synced)
		if err := r.Bed.StopAgents(ctx, importer); err != nil {
			return err
		}
		addresses, err := r.changeAll(ctx, freshAddresses+block*fleetSize)
		if err != nil {
			return err
		}
		writes, err := r.counted(ctx, func() error {
			began := time.Now()
			if err := r.Bed.StartAgents(ctx, importer); err != nil {
				return err
			}
			var last time.Time
			for i, o := range observers {
				at, err := o.Await(ctx, bed.Appeared(addresses[i]))
				if err != nil {
					return err
				}
				if at.After(last) {
					last = at
				}
			}
			found.add("atoll", "current", last.Sub(began))
			return nil
		})
		if err != nil {
			return err
		}
		both := slices.Concat(ofSlices(writes[importer]), ofSlices(writes[lab.Broker]))
		written += len(both)
		changed += len(addresses)
		others = kinds(writes[importer]) + "; on the broker: " + kinds(writes[lab.Broker])
	}
	c.Add(
		figure.Times("until it has followed one change of each cluster", figure.Seconds, found["atoll"]["current"]).
			OnFloor(figure.Times("", figure.Seconds, floored["floor"]["synced"])).AtMost(10).
			Because("from the start of the process; the floor is a bare informer's time from its start until it has the same slices"),
		figure.New("writes of slices", figure.Writes, float64(written)).Exactly(float64(changed)).
			Because("in the importing cluster: "+others+"; a leader that is new says once that it has published everything"),
	)
	return nil
}

// changeAll changes one endpoint in each simulated cluster, and returns the new addresses
// when they are on the broker.
func (r *Run) changeAll(ctx context.Context, first int) ([]string, error) {
	var addresses []string
	for i, s := range r.fleet.services {
		member := r.fleet.members[i]
		slice := &discoveryv1.EndpointSlice{}
		key := types.NamespacedName{Namespace: s.Namespace, Name: s.Slices()[0].Name}
		if err := member.Client.Get(ctx, key, slice); err != nil {
			return nil, err
		}
		slice.Endpoints[0] = bed.Endpoint(s.Namespace, first+i)
		addresses = append(addresses, slice.Endpoints[0].Addresses[0])
		if err := member.Client.Update(ctx, slice); err != nil {
			return nil, err
		}
	}
	return addresses, r.onBroker(ctx, addresses)
}

// onBroker returns when addresses are in slices on the broker.
func (r *Run) onBroker(ctx context.Context, addresses []string) error {
	for {
		list := &discoveryv1.EndpointSliceList{}
		if err := r.Bed.On[lab.Broker].List(ctx, list); err != nil {
			return err
		}
		have := map[string]bool{}
		for _, s := range list.Items {
			for _, e := range s.Endpoints {
				have[e.Addresses[0]] = true
			}
		}
		missing := 0
		for _, a := range addresses {
			if !have[a] {
				missing++
			}
		}
		if missing == 0 {
			return nil
		}
		if err := bed.Pause(ctx, 100*time.Millisecond); err != nil {
			return fmt.Errorf("waiting for %d changes to arrive on the broker: %w", missing, err)
		}
	}
}
