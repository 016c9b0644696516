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

// setting is one size of a clusterset.
type setting struct{ clusters, services, endpoints, namespaces int }

// sweep is a series of settings in which one thing grows.
type sweep struct {
	name     string
	of       func(setting) float64
	settings []setting
	// at is the size to extrapolate to.
	at float64
}

// sweeps grow services alone, endpoints alone, the namespaces of the same services alone, and clusters with the services that
// each of them exports. In every setting all clusters import everything.
func (r *Run) sweeps() []sweep {
	byCluster := sweep{name: "clusters (each exports 2 services)", of: func(s setting) float64 { return float64(s.clusters) }, at: 500}
	for _, n := range []int{3, 5, 10, 20, 50} {
		n = max(3, r.sized(n))
		byCluster.settings = append(byCluster.settings, setting{n, 2 * n, 20 * n, 1})
	}
	byService := sweep{name: "services of 10 endpoints, in 10 clusters", of: func(s setting) float64 { return float64(s.services) }, at: 10000}
	for _, n := range []int{20, 50, 100, 200, 400} {
		byService.settings = append(byService.settings, setting{10, r.sized(n), 10 * r.sized(n), 1})
	}
	byEndpoint := sweep{name: "endpoints of 10 services, in 10 clusters", of: func(s setting) float64 { return float64(s.endpoints) }, at: 100000}
	for _, n := range []int{1000, 2000, 5000, 10000, 20000} {
		byEndpoint.settings = append(byEndpoint.settings, setting{10, 10, r.sized(n), 1})
	}
	byNamespace := sweep{name: "namespaces of 100 services, in 10 clusters", of: func(s setting) float64 { return float64(s.namespaces) }, at: 1000}
	for _, n := range []int{1, 10, 30, 100} {
		byNamespace.settings = append(byNamespace.settings, setting{10, r.sized(100), 10 * r.sized(100), min(n, r.sized(100))})
	}
	return []sweep{byService, byEndpoint, byNamespace, byCluster}
}

// grown is what a setting needed.
type grown struct {
	setting
	idleCPU      float64 // of the broker's API server and etcd, in thousandths of a processor
	idleEvents   float64 // watch events in a second, then
	cpu          float64 // of the same, in seconds, from the exports until all have all
	changeCPU    float64 // of the same, in ms, for one endpoint's change
	requests     float64
	events       float64
	megabytes    float64
	memory       float64 // live heap of the broker's API server, in MiB, when all have all
	arrival      float64 // seconds until all have all
	change, last float64 // ms until one real cluster, and all, have one endpoint's change
	heap         float64 // live heap of a real cluster's agent, in MiB, when all have all
	watches      float64 // of slices, on the broker, then
}

// unfitted is how many of the columns are not fitted: what there is at rest has a fixed part, which a power would show in place
// of what grows. The case rest has it.
const unfitted = 2

// columns are what is shown and fitted, with their names.
var columns = []struct {
	name string
	of   func(grown) float64
}{
	{"broker CPU at rest, m", func(g grown) float64 { return g.idleCPU }},
	{"watch events/s at rest", func(g grown) float64 { return g.idleEvents }},
	{"until all have all, s", func(g grown) float64 { return g.arrival }},
	{"broker CPU for that, s", func(g grown) float64 { return g.cpu }},
	{"requests", func(g grown) float64 { return g.requests }},
	{"watch events", func(g grown) float64 { return g.events }},
	{"sent, MB", func(g grown) float64 { return g.megabytes }},
	{"broker's live heap, MiB", func(g grown) float64 { return g.memory }},
	{"one change, ms", func(g grown) float64 { return g.change }},
	{"in all clusters, ms", func(g grown) float64 { return g.last }},
	{"broker CPU for it, ms", func(g grown) float64 { return g.changeCPU }},
	{"an agent's live heap, MiB", func(g grown) float64 { return g.heap }},
	{"watches of slices", func(g grown) float64 { return g.watches }},
}

// growth lets the clusterset grow.
func growth(ctx context.Context, r *Run, c *figure.Case) error {
	number := 0
	for _, sweep := range r.sweeps() {
		var all []grown
		for _, s := range sweep.settings {
			number++
			r.Say("growth: %d clusters, %d services, %d endpoints, %d namespaces", s.clusters, s.services, s.endpoints, s.namespaces)
			g, err := r.grow(ctx, fmt.Sprintf("growth-%d", number), s)
			if err != nil {
				return fmt.Errorf("%+v: %w", s, err)
			}
			all = append(all, g)
		}
		c.Tables = append(c.Tables, sweep.table(all), sweep.exponents(all))
	}
	c.Notes = append(c.Notes,
		"all agents, the broker and two real clusters share this machine's processors, so times grow more than where each has its own; the broker's CPU, requests, events and bytes do not depend on that",
		"live heaps are those after garbage collections, of the broker's API server, which remembers the latest changes of each kind, and of one agent, which imports everything",
	)
	return nil
}

// brokerCPU is what the broker's API server and etcd have used of processors.
func (r *Run) brokerCPU() (time.Duration, error) {
	server, err := r.Bed.Usage(lab.Broker + "/apiserver")
	if err != nil {
		return 0, err
	}
	etcd, err := r.Bed.Usage(lab.Broker + "/etcd")
	return server.CPU + etcd.CPU, err
}

// member is a cluster of a setting, real or simulated.
type member struct {
	client   client.WithWatch
	observer *bed.Observer
	services []bed.Service
}

// grow measures one setting in namespaces of its own, whose names begin with namespace.
func (r *Run) grow(ctx context.Context, namespace string, s setting) (grown, error) {
	g := grown{setting: s}
	if err := r.join(ctx, s.clusters-len(r.Bed.Members)); err != nil {
		return g, err
	}
	ctx, cancel := context.WithCancel(ctx) // what follows this setting does not see the next
	defer cancel()
	members, err := r.settle(ctx, namespace, s)
	if err != nil {
		return g, err
	}
	if err := r.atRest(ctx, &g); err != nil {
		return g, err
	}
	if err := r.exportAll(ctx, members, &g); err != nil {
		return g, err
	}
	if err := r.heaps(ctx, &g); err != nil {
		return g, err
	}
	if err := r.changeSome(ctx, members, &g); err != nil {
		return g, err
	}
	return g, leave(ctx, members)
}

// heaps measures what is in memory when all have all.
func (r *Run) heaps(ctx context.Context, g *grown) error {
	server, err := r.Bed.ServerHeap(ctx, lab.Broker)
	if err != nil {
		return err
	}
	metrics, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return err
	}
	agent, err := r.agentMemory(ctx, importer)
	g.memory, g.heap = server/mib, agent.heap
	g.watches = metrics.Sum("apiserver_longrunning_requests", "resource", "endpointslices", "verb", "WATCH")
	return err
}

// namespaceOf returns the name of one of a setting's namespaces.
func namespaceOf(prefix string, number int) string { return fmt.Sprintf("%s-%d", prefix, number) }

// settle makes the setting's services, each in one of the clusters and in one of the namespaces by turns.
func (r *Run) settle(ctx context.Context, namespace string, s setting) ([]*member, error) {
	var members []*member
	for _, c := range r.Bed.Members {
		members = append(members, &member{client: r.Bed.On[c]})
	}
	for _, m := range r.fleet.members[:s.clusters-len(r.Bed.Members)] {
		members = append(members, &member{client: m.Client})
	}
	for i := range s.services {
		begin := func(i int) int { return s.endpoints * i / s.services }
		m := members[i%len(members)]
		m.services = append(m.services, bed.Service{
			Namespace: namespaceOf(namespace, i%s.namespaces), Name: fmt.Sprintf("s%d", i), First: begin(i), Endpoints: begin(i+1) - begin(i),
		})
	}
	for _, m := range members {
		for i := range s.namespaces {
			if err := m.client.Create(ctx, bed.NamespaceObject(namespaceOf(namespace, i))); err != nil {
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

// atRest measures the heartbeats.
func (r *Run) atRest(ctx context.Context, g *grown) error {
	const rest = 20 * time.Second // two renewals of each member's
	said, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return err
	}
	before, err := r.brokerCPU()
	if err != nil {
		return err
	}
	if err := bed.Pause(ctx, rest); err != nil {
		return err
	}
	after, err := r.brokerCPU()
	if err != nil {
		return err
	}
	g.idleCPU = (after - before).Seconds() / rest.Seconds() * 1000
	says, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	const events = "apiserver_watch_events_total"
	g.idleEvents = (says.Sum(events) - said.Sum(events)) / rest.Seconds()
	return err
}

// exportAll exports everything at once and waits until all clusters have it.
func (r *Run) exportAll(ctx context.Context, members []*member, g *grown) error {
	used, err := r.brokerCPU()
	if err != nil {
		return err
	}
	before, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return err
	}
	began := time.Now()
	var marks []bed.Mark
	if err := bed.Each(ctx, members, func(ctx context.Context, m *member) error {
		return bed.Each(ctx, m.services, func(ctx context.Context, s bed.Service) error { return s.Export(ctx, m.client) })
	}); err != nil {
		return err
	}
	for _, m := range members {
		for _, s := range m.services {
			marks = append(marks, bed.Usable(s.Name), bed.Endpoints(s.Name, s.Endpoints))
		}
	}
	for _, m := range members {
		last, err := m.observer.Await(ctx, marks...)
		if err != nil {
			return err
		}
		g.arrival = max(g.arrival, last.Sub(began).Seconds())
	}
	if err := bed.Pause(ctx, 2*time.Second); err != nil { // conditions and the catalogue follow
		return err
	}
	after, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return err
	}
	total, err := r.brokerCPU()
	delta := func(name string) float64 { return after.Sum(name) - before.Sum(name) }
	g.cpu = (total - used).Seconds()
	g.requests, g.events = delta("apiserver_request_total"), delta("apiserver_watch_events_total")
	g.megabytes = delta("apiserver_watch_events_sizes_sum") / 1e6
	return err
}

// changeSome changes endpoints one by one.
func (r *Run) changeSome(ctx context.Context, members []*member, g *grown) error {
	const changes = 20
	var one, all []time.Duration
	source := members[0]
	slices, err := sourceSlices(ctx, source.client, source.services[0])
	if err != nil {
		return err
	}
	used, err := r.brokerCPU()
	if err != nil {
		return err
	}
	for i := range changes {
		// Longer than any change is held back, so that each is the first of its slice.
		if err := bed.Pause(ctx, 700*time.Millisecond); err != nil {
			return err
		}
		slice := &slices[i%len(slices)]
		slice.Endpoints[0] = bed.Endpoint(slice.Namespace, freshAddresses+i)
		began := time.Now()
		if err := source.client.Update(ctx, slice); err != nil {
			return err
		}
		var last time.Time
		for j, m := range members[1:] {
			at, err := m.observer.Await(ctx, bed.Appeared(bed.Address(freshAddresses+i)))
			if err != nil {
				return err
			}
			if j == 0 {
				one = append(one, at.Sub(began))
			}
			if at.After(last) {
				last = at
			}
		}
		all = append(all, last.Sub(began))
	}
	total, err := r.brokerCPU()
	idle := g.idleCPU / 1000 * (changes * 0.7)
	g.changeCPU = max(0, (total-used).Seconds()-idle) / changes * 1000
	g.change, g.last = figure.Times("", figure.Milliseconds, one).Value, figure.Times("", figure.Milliseconds, all).Value
	return err
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

// table shows what each setting needed.
func (s sweep) table(all []grown) figure.Table {
	t := figure.Table{Title: "Growth with " + s.name, Columns: []string{"clusters", "services", "endpoints", "namespaces"}}
	for _, column := range columns {
		t.Columns = append(t.Columns, column.name)
	}
	for _, g := range all {
		row := []string{fmt.Sprint(g.clusters), fmt.Sprint(g.services), fmt.Sprint(g.endpoints), fmt.Sprint(g.namespaces)}
		for _, column := range columns {
			row = append(row, figure.Number(column.of(g)))
		}
		t.Add(row...)
	}
	return t
}

// exponents fits each column.
func (s sweep) exponents(all []grown) figure.Table {
	t := figure.Table{
		Title: "The same as powers of the number of " + s.name,
		Columns: []string{
			"", "exponent", "R²", fmt.Sprintf("extrapolated to %g", s.at),
			"exponent between the last two", fmt.Sprintf("with that at %g", s.at),
		},
	}
	var xs []float64
	for _, g := range all {
		xs = append(xs, s.of(g.setting))
	}
	for _, column := range columns[unfitted:] {
		var ys []float64
		for _, g := range all {
			ys = append(ys, column.of(g))
		}
		law, ok := figure.Fit(xs, ys)
		if !ok {
			t.Add(column.name, "–", "–", "–", "–", "–")
			continue
		}
		row := []string{column.name, fmt.Sprintf("%.2f", law.Exponent), fmt.Sprintf("%.2f", law.R2), figure.Number(law.At(s.at))}
		// A fixed part makes the whole look flat; at the end it weighs least.
		if end, ok := figure.Fit(xs[len(xs)-2:], ys[len(ys)-2:]); ok {
			row = append(row, fmt.Sprintf("%.2f", end.Exponent), figure.Number(end.At(s.at)))
		}
		t.Add(row...)
	}
	return t
}
