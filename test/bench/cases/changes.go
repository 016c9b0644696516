package cases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

const (
	// gap lets subsequent writes finish. Statuses and Events are written 100 ms later.
	gap = 300 * time.Millisecond
	// endpointsOfSmall is the number of endpoints of most services.
	endpointsOfSmall = 10
	// freshAddresses is above the addresses of all services.
	freshAddresses = 1 << 22
)

// small returns services with few endpoints each.
func small(n int) []bed.Service {
	services := make([]bed.Service, n)
	for i := range services {
		services[i] = bed.Service{Name: fmt.Sprintf("small-%d", i), Endpoints: endpointsOfSmall, First: i * endpointsOfSmall}
	}
	return services
}

// The stages of a service's import.
const (
	stageExists   = "exists"
	stageUsable   = "usable"
	stageComplete = "complete"
)

// arrival returns the stages of the import of services.
func arrival(services ...bed.Service) []stage {
	stages := []stage{{name: stageExists}, {name: stageUsable}, {name: stageComplete}}
	for _, s := range services {
		stages[0].marks = append(stages[0].marks, bed.Exists(s.Name))
		stages[1].marks = append(stages[1].marks, bed.Usable(s.Name))
		stages[2].marks = append(stages[2].marks, bed.Usable(s.Name), bed.Endpoints(s.Name, s.Endpoints))
	}
	return stages
}

// exportEach exports services one by one.
func exportEach(b *block) (steps []step) {
	for _, s := range b.services {
		steps = append(steps, step{func(ctx context.Context) error { return s.Export(ctx, b.from) }, arrival(s)})
	}
	return steps
}

// exportAll exports all services at once.
func exportAll(b *block) []step {
	return []step{{func(ctx context.Context) error {
		return bed.Each(ctx, b.services, func(ctx context.Context, s bed.Service) error { return s.Export(ctx, b.from) })
	}, arrival(b.services...)}}
}

func exportBare(r *Run) comparison {
	return comparison{
		name: "export-bare", bare: true, services: small(r.Rounds + warmUp), steps: exportEach, pause: gap,
		results: []result{{stageExists, "the ServiceImport exists", figure.Milliseconds, 3,
			"the floor writes the export, a record, and an import without address: three writes"}},
	}
}

func exportWhole(r *Run) comparison {
	return comparison{
		name: "export", services: small(r.Rounds + warmUp), steps: exportEach, pause: gap,
		results: []result{
			{stageUsable, "it has its clusterset IP", figure.Milliseconds, 0,
				"the floor makes the Service too, and then the import with its address: four writes, one after the other"},
			{stageComplete, "and its endpoints are there", figure.Milliseconds, 3,
				"the floor copies the slice beside the record, and does not wait for the Service with it"},
		},
	}
}

func burstBare(r *Run) comparison {
	n := r.sized(200)
	return comparison{
		name: "burst-bare", bare: true, services: small(n), steps: exportAll,
		results: []result{{stageExists, fmt.Sprintf("all %d ServiceImports exist", n), figure.Seconds, 3, ""}},
	}
}

func burstWhole(r *Run) comparison {
	return comparison{
		name: "burst", services: small(r.sized(200)), steps: exportAll, copied: true,
		results: []result{
			{stageComplete, "all have their clusterset IP and endpoints", figure.Seconds, 3, ""},
			{stageDone, "everything is done", figure.Seconds, 0,
				"until agents have made their last write, such as a condition or an Event; the floor is a plain program that makes the same writes"},
		},
	}
}

// changeOf returns a step that replaces an endpoint of one of the block's slices.
func changeOf(b *block, slice, endpoint, number int) step {
	fresh := bed.Endpoint(b.namespace, freshAddresses+number)
	return step{func(ctx context.Context) error {
		b.slices[slice].Endpoints[endpoint] = fresh
		return b.from.Update(ctx, &b.slices[slice])
	}, []stage{{"change", []bed.Mark{bed.Appeared(fresh.Addresses[0])}}}}
}

// endpoint changes one endpoint at a time, each in another slice, so that no change is delayed
// by an earlier change of its slice.
func endpoint(r *Run) comparison {
	n := r.Rounds + warmUp
	return comparison{
		name: "endpoint", services: []bed.Service{{Name: "many", Endpoints: n * bed.PerSlice}}, exported: true, pause: gap,
		steps: func(b *block) (steps []step) {
			for i := range n {
				steps = append(steps, changeOf(b, i, i%bed.PerSlice, b.number*n+i))
			}
			return steps
		},
		results: []result{{"change", "until the importing cluster has it", figure.Milliseconds, 3, ""}},
		slices:  func(f figure.Figure) figure.Figure { return f.Exactly(1) },
	}
}

// successive changes an endpoint repeatedly, as soon as the importing cluster has the previous
// change. Its floor is a plain relay of the slice: watch, write, watch, write.
func successive(r *Run) comparison {
	return comparison{
		name: "successive", services: []bed.Service{{Name: "large", Endpoints: r.sized(1000)}}, exported: true,
		steps: func(b *block) (steps []step) {
			for i := range r.Rounds + warmUp {
				steps = append(steps, changeOf(b, 0, 0, b.number*1000+i))
			}
			return steps
		},
		results: []result{{"change", "until the importing cluster has it", figure.Milliseconds, 3,
			"the floor is a plain relay of the slice: watch, write, watch, write"}},
	}
}

func create(r *Run) comparison {
	n := r.sized(20000)
	return comparison{
		name: "create", services: []bed.Service{{Name: "huge", Endpoints: n}}, steps: exportAll, copied: true,
		results: []result{
			{stageComplete, fmt.Sprintf("until the importing cluster has all %d", n), figure.Seconds, 3,
				"the floor copies the slices to one cluster, Atoll to all three"},
			{stageDone, "everything is done", figure.Seconds, 0, "the floor is a plain program that makes the same writes"},
		},
		slices: func(f figure.Figure) figure.Figure { return f.Exactly(float64((n + bed.PerSlice - 1) / bed.PerSlice)) },
	}
}

// rolling replaces all endpoints of a service one by one, as fast as the exporting cluster
// accepts the writes. No slice grows: an old endpoint is removed before a new endpoint is
// added.
func rolling(r *Run) comparison {
	n := r.sized(2000)
	return comparison{
		name: "rolling", services: []bed.Service{{Name: "rolling", Endpoints: n}}, exported: true, together: true,
		steps: func(b *block) []step { return replacement(b, freshAddresses+b.number*n) },
		results: []result{
			{stageTotal, "from the first change until all endpoints are replaced", figure.Seconds, 0, ""},
			{stageLag, "of that, after the last change", figure.Milliseconds, 0, ""},
			{"appeared", "until a new endpoint is there", figure.Milliseconds, 0, ""},
			{"vanished", "until an old one is gone", figure.Milliseconds, 3, "the floor passes every change on, and lags in the end"},
		},
		slices: func(f figure.Figure) figure.Figure { return f.AtMost(1) },
	}
}

// absent is the number of endpoints that are missing at a time during a rolling replacement.
const absent = 10

// replacement replaces all endpoints of the block's slices, in the same order in each run. The
// new addresses begin with first.
func replacement(b *block, first int) (steps []step) {
	var order []int // the slice of each replacement
	for i := range b.slices {
		for range b.slices[i].Endpoints {
			order = append(order, i)
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	removed := make([]int, len(b.slices))
	for i := range len(order) + absent {
		if i < len(order) {
			slice := &b.slices[order[i]]
			old := slice.Endpoints[removed[order[i]]].Addresses[0]
			removed[order[i]]++
			steps = append(steps, step{func(ctx context.Context) error {
				slice.Endpoints = slice.Endpoints[1:] // new ones come last
				return b.from.Update(ctx, slice)
			}, []stage{{"vanished", []bed.Mark{bed.Vanished(old)}}}})
		}
		if i >= absent {
			slice, fresh := &b.slices[order[i-absent]], bed.Endpoint(b.namespace, first+i)
			steps = append(steps, step{func(ctx context.Context) error {
				slice.Endpoints = append(slice.Endpoints, fresh)
				return b.from.Update(ctx, slice)
			}, []stage{{"appeared", []bed.Mark{bed.Appeared(fresh.Addresses[0])}}}})
		}
	}
	return steps
}
