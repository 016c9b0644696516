package cases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// setting is one size of a clusterset. All clusters import everything.
type setting struct{ clusters, services, endpoints, namespaces int }

// settings grow services alone, endpoints alone, namespaces alone, and clusters with the services
// that each of them exports.
func (r *Run) settings() (all []setting) {
	for _, n := range []int{20, 50, 100, 200, 400} {
		all = append(all, setting{10, r.sized(n), 10 * r.sized(n), 1})
	}
	for _, n := range []int{1000, 2000, 5000, 10000, 20000} {
		all = append(all, setting{10, 10, r.sized(n), 1})
	}
	for _, n := range []int{1, 10, 30, 100} {
		all = append(all, setting{10, r.sized(100), 10 * r.sized(100), min(n, r.sized(100))})
	}
	for _, n := range []int{3, 5, 10, 20, 50} {
		n = max(3, r.sized(n))
		all = append(all, setting{n, 2 * n, 20 * n, 1})
	}
	return all
}

// columns are what the table of growth shows beside the setting.
var columns = []string{
	"clusters", "services", "endpoints", "namespaces",
	"broker CPU at rest, m", "watch events/s at rest", "until all have all, s", "broker CPU for that, s", "requests", "watch events", "sent, MB",
	"broker's live heap, MiB", "an agent's live heap, MiB", "watches of slices", "one change in all clusters, ms", "broker CPU for it, ms",
}

// growth lets the clusterset grow, and shows what each setting needs.
func growth(ctx context.Context, r *Run, c *figure.Case) error {
	table := figure.Table{Title: "What a clusterset needs", Columns: columns}
	defer func() { c.Tables = append(c.Tables, table) }() // also what there is when the case is given up
	for i, s := range r.settings() {
		r.Say("growth: %d clusters, %d services, %d endpoints, %d namespaces", s.clusters, s.services, s.endpoints, s.namespaces)
		found, err := r.grow(ctx, fmt.Sprintf("growth-%d", i), s)
		if err != nil {
			return fmt.Errorf("%+v: %w", s, err)
		}
		row := []string{fmt.Sprint(s.clusters), fmt.Sprint(s.services), fmt.Sprint(s.endpoints), fmt.Sprint(s.namespaces)}
		for _, value := range found {
			row = append(row, figure.Number(value))
		}
		table.Add(row...)
	}
	c.Notes = append(c.Notes,
		"all agents, the broker and two real clusters share this machine's processors; the broker's CPU, requests, events and bytes do not depend on that",
		"live heaps are those after garbage collections, of the broker's API server, which remembers the latest changes of each kind, and of one agent")
	return nil
}

// load is what the broker has had to do.
type load struct {
	cpu              time.Duration // of its API server and etcd
	requests, events float64
	sent             float64 // bytes, to watches
}

// brokerLoad returns what the broker has to do while something is done.
func (r *Run) brokerLoad(ctx context.Context, do func() error) (load, error) {
	now := func() (load, error) {
		server, err := r.Bed.Usage(lab.Broker + "/apiserver")
		if err != nil {
			return load{}, err
		}
		etcd, err := r.Bed.Usage(lab.Broker + "/etcd")
		if err != nil {
			return load{}, err
		}
		m, err := r.Bed.ServerMetrics(ctx, lab.Broker)
		return load{server.CPU + etcd.CPU, m.Sum("apiserver_request_total"), m.Sum("apiserver_watch_events_total"), m.Sum("apiserver_watch_events_sizes_sum")}, err
	}
	before, err := now()
	if err != nil {
		return load{}, err
	}
	if err := do(); err != nil {
		return load{}, err
	}
	after, err := now()
	return load{after.cpu - before.cpu, after.requests - before.requests, after.events - before.events, after.sent - before.sent}, err
}

// member is a cluster of a setting, real or simulated.
type member struct {
	client   client.WithWatch
	observer *bed.Observer
	services []bed.Service
}

// grow measures one setting, in namespaces whose names begin with prefix. It returns what columns show after the setting.
func (r *Run) grow(ctx context.Context, prefix string, s setting) ([]float64, error) {
	if err := r.join(ctx, s.clusters-len(r.Bed.Members)); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx) // what observes this setting does not see the next
	defer cancel()
	members, err := r.settle(ctx, prefix, s)
	if err != nil {
		return nil, err
	}
	const rest = 20 * time.Second // two renewals of each member's heartbeat
	idle, err := r.brokerLoad(ctx, func() error { return bed.Pause(ctx, rest) })
	if err != nil {
		return nil, err
	}
	var arrival time.Duration
	exports, err := r.brokerLoad(ctx, func() (err error) {
		arrival, err = exportFrom(ctx, members)
		return err
	})
	if err != nil {
		return nil, err
	}
	server, err := r.Bed.ServerHeap(ctx, lab.Broker)
	if err != nil {
		return nil, err
	}
	metrics, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return nil, err
	}
	heap, err := r.agentHeap(ctx)
	if err != nil {
		return nil, err
	}
	const changes, apart = 20, 700 * time.Millisecond // longer than an agent holds back any change
	var all []time.Duration
	changed, err := r.brokerLoad(ctx, func() (err error) {
		all, err = changeSome(ctx, members, changes, apart)
		return err
	})
	if err != nil {
		return nil, err
	}
	idleCPU := idle.cpu.Seconds() / rest.Seconds()
	return []float64{
		idleCPU * 1000, idle.events / rest.Seconds(), arrival.Seconds(), exports.cpu.Seconds(), exports.requests, exports.events, exports.sent / 1e6,
		server / mib, heap, metrics.Sum("apiserver_longrunning_requests", "resource", "endpointslices", "verb", "WATCH"),
		figure.Times("", figure.Milliseconds, all).Value,
		max(0, changed.cpu.Seconds()-idleCPU*changes*apart.Seconds()) / changes * 1000,
	}, leave(ctx, members)
}

// settle makes the setting's services, each in one of the clusters and in one of the namespaces by turns.
func (r *Run) settle(ctx context.Context, prefix string, s setting) ([]*member, error) {
	var members []*member
	for _, c := range r.Bed.Members {
		members = append(members, &member{client: r.Bed.On[c]})
	}
	for _, m := range r.fleet.members[:s.clusters-len(r.Bed.Members)] {
		members = append(members, &member{client: m.Client})
	}
	namespace := func(number int) string { return fmt.Sprintf("%s-%d", prefix, number%s.namespaces) }
	for i := range s.services {
		first := s.endpoints * i / s.services
		m := members[i%len(members)]
		m.services = append(m.services, bed.Service{
			Namespace: namespace(i), Name: fmt.Sprintf("s%d", i), First: first, Endpoints: s.endpoints*(i+1)/s.services - first,
		})
	}
	for _, m := range members {
		for i := range s.namespaces {
			if err := m.client.Create(ctx, bed.NamespaceObject(namespace(i))); err != nil {
				return nil, err
			}
		}
		err := bed.Each(ctx, m.services, func(ctx context.Context, s bed.Service) error { return s.Create(ctx, m.client) })
		if err != nil {
			return nil, err
		}
		if m.observer, err = bed.Observe(ctx, m.client, ""); err != nil { // services have names of their own
			return nil, err
		}
	}
	return members, bed.Pause(ctx, 3*time.Second)
}

// exportFrom exports everything at once, and returns how long it took until all clusters have it.
func exportFrom(ctx context.Context, members []*member) (arrival time.Duration, err error) {
	began := time.Now()
	if err := bed.Each(ctx, members, func(ctx context.Context, m *member) error {
		return bed.Each(ctx, m.services, func(ctx context.Context, s bed.Service) error { return s.Export(ctx, m.client) })
	}); err != nil {
		return 0, err
	}
	var marks []bed.Mark
	for _, m := range members {
		for _, s := range m.services {
			marks = append(marks, bed.Usable(s.Name), bed.Endpoints(s.Name, s.Endpoints))
		}
	}
	for _, m := range members {
		last, err := m.observer.Await(ctx, marks...)
		if err != nil {
			return 0, err
		}
		arrival = max(arrival, last.Sub(began))
	}
	return arrival, bed.Pause(ctx, 2*time.Second) // conditions and the catalogue follow
}

// changeSome changes endpoints one by one, and returns how long it took until all other clusters had each.
func changeSome(ctx context.Context, members []*member, changes int, apart time.Duration) (all []time.Duration, err error) {
	source := members[0]
	slices, err := sourceSlices(ctx, source.client, source.services[0])
	if err != nil {
		return nil, err
	}
	for i := range changes {
		if err := bed.Pause(ctx, apart); err != nil {
			return nil, err
		}
		slice := &slices[i%len(slices)]
		slice.Endpoints[0] = bed.Endpoint(slice.Namespace, freshAddresses+i)
		began := time.Now()
		if err := source.client.Update(ctx, slice); err != nil {
			return nil, err
		}
		var last time.Duration
		for _, m := range members[1:] {
			at, err := m.observer.Await(ctx, bed.Appeared(bed.Address(freshAddresses+i)))
			if err != nil {
				return nil, err
			}
			last = max(last, at.Sub(began))
		}
		all = append(all, last)
	}
	return all, nil
}

// leave takes everything back and waits until it is gone.
func leave(ctx context.Context, members []*member) error {
	var marks []bed.Mark
	var failed error
	for _, m := range members {
		for _, s := range m.services {
			marks = append(marks, bed.Gone(s.Name))
			failed = errors.Join(failed, s.Delete(ctx, m.client))
		}
	}
	for _, m := range members {
		if failed == nil {
			_, failed = m.observer.Await(ctx, marks...)
		}
	}
	return failed
}
