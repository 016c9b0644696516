package cases

import (
	"context"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// importers is how many clusters import in the sample cases: as many as the second has
// nodes. The first has 5,000, of which no machine has room for so many clusters.
const importers = 10

// sampleCase is one of the KEP's, with its estimates for slices of 100 endpoints
// (KEP-0752, "Estimation").
type sampleCase struct {
	title            string
	endpoints, nodes int
	// replaced is how many endpoints are replaced by the rolling update that is measured.
	replaced int
	creation, update,
	rolling estimate
}

type estimate struct{ writes, events, bytes float64 }

func (r *Run) sampleCases() []sampleCase {
	return []sampleCase{
		{
			title: "Sample case 1", endpoints: r.sized(20000), nodes: 5000, replaced: r.sized(2000),
			creation: estimate{200, 1e6, 10e9}, update: estimate{1, 5000, 50e6}, rolling: estimate{20000, 1e8, 1e12},
		},
		{
			title: "Sample case 2", endpoints: 20, nodes: 10, replaced: 20,
			creation: estimate{1, 10, 10e3}, update: estimate{1, 10, 10e3}, rolling: estimate{20, 200, 200e3},
		},
	}
}

// traffic is what one step has caused.
type traffic struct {
	onBroker   []audit.Write
	inImporter []audit.Write
	inExporter []audit.Write
	collector  int // requests of the importing cluster's garbage collector, beside inImporter
	simulated  int // writes of slices in all simulated importers
	events     float64
	bytes      float64
}

// writes counts what API servers have to do for the KEP's sample cases.
func writes(ctx context.Context, r *Run, c *figure.Case) error {
	if err := r.join(ctx, importers-1); err != nil {
		return err
	}
	// Only agents shall watch slices on the broker: its own controllers would be counted.
	if err := r.Bed.Lab.Kill(ctx, lab.Broker+"/controller-manager"); err != nil {
		return err
	}
	defer func() { _ = r.Bed.Lab.Start(context.WithoutCancel(ctx), lab.Broker+"/controller-manager") }()
	for i, sample := range r.sampleCases() {
		table, err := r.sample(ctx, fmt.Sprintf("kep-%d", i+1), sample)
		if err != nil {
			return fmt.Errorf("%s: %w", sample.title, err)
		}
		c.Tables = append(c.Tables, table)
	}
	c.Notes = append(c.Notes,
		fmt.Sprintf("measured with %d importing clusters: %s and %d simulated ones, and the exporting cluster, which watches its own slices on the broker and so gets each event back once, as does the API server itself, for API services", importers, importer, importers-1),
		"writes are EndpointSlices' alone and are counted in the API servers' audit logs; of a slice that goes with its import the cluster's garbage collector asks the deletion too, where it comes first; events and bytes are the broker's apiserver_watch_events_total and _sizes, without its controller manager; events of less than 1 KiB are left out, which are bookmarks",
	)
	return nil
}

// sample measures one of the sample cases.
func (r *Run) sample(ctx context.Context, namespace string, s sampleCase) (figure.Table, error) {
	clusters := r.fleet.members[:importers-1]
	observers, err := r.audience(ctx, namespace, clusters)
	if err != nil {
		return figure.Table{}, err
	}
	from := r.Bed.On[exporter]
	service := bed.Service{Namespace: namespace, Name: "web", Endpoints: s.endpoints}
	if err := service.Create(ctx, from); err != nil {
		return figure.Table{}, err
	}
	step := func(do func() error, marks ...bed.Mark) (traffic, error) {
		return r.traffic(ctx, clusters, func() error {
			if err := do(); err != nil {
				return err
			}
			for _, o := range observers {
				if _, err := o.Await(ctx, marks...); err != nil {
					return err
				}
			}
			return nil
		})
	}
	r.Say("writes: %s, creation", s.title)
	creation, err := step(func() error { return service.Export(ctx, from) }, bed.Usable(service.Name), bed.Endpoints(service.Name, s.endpoints))
	if err != nil {
		return figure.Table{}, err
	}
	sources, err := sourceSlices(ctx, from, service)
	if err != nil {
		return figure.Table{}, err
	}
	r.Say("writes: %s, one endpoint", s.title)
	update, err := step(func() error {
		sources[0].Endpoints[0] = bed.Endpoint(namespace, freshAddresses)
		return from.Update(ctx, &sources[0])
	}, bed.Appeared(bed.Address(freshAddresses)))
	if err != nil {
		return figure.Table{}, err
	}
	r.Say("writes: %s, rolling update of %d", s.title, s.replaced)
	rolling, err := step(func() error {
		for i := range s.replaced {
			slice := &sources[i%len(sources)]
			slice.Endpoints[(i/len(sources))%len(slice.Endpoints)] = bed.Endpoint(namespace, freshAddresses+1+i)
			if err := from.Update(ctx, slice); err != nil {
				return err
			}
		}
		return nil
	}, bed.Appeared(bed.Address(freshAddresses+s.replaced)))
	if err != nil {
		return figure.Table{}, err
	}
	r.Say("writes: %s, %d pods replaced", s.title, s.replaced)
	pods, err := step(func() error { return replacePods(ctx, from, sources, s.replaced, freshAddresses+s.replaced+1) },
		bed.Appeared(bed.Address(freshAddresses+2*s.replaced)))
	if err != nil {
		return figure.Table{}, err
	}
	r.Say("writes: %s, deletion", s.title)
	deletion, err := step(func() error { return service.Unexport(ctx, from) }, bed.Gone(service.Name), bed.Endpoints(service.Name, 0))
	if err != nil {
		return figure.Table{}, err
	}
	return s.table(creation, deletion, update, rolling, pods), service.Delete(ctx, from)
}

// podPhases is how many writes Kubernetes' own controller needs at most for a pod that is replaced.
const podPhases = 4

// replacePods replaces n endpoints as Kubernetes' own controller shows pods that are replaced without surge, so that no slice
// grows. What happens to one happens between what happens to others, some of which are in the same slice. The new ones'
// addresses begin with first.
func replacePods(ctx context.Context, from client.Client, sources []discoveryv1.EndpointSlice, n, first int) error {
	const apart = 3 // pods that are in the phase before
	type pod struct {
		slice    *discoveryv1.EndpointSlice
		old, new string
	}
	pods := make([]pod, n)
	for i := range pods {
		slice := &sources[i%len(sources)]
		pods[i] = pod{slice, slice.Endpoints[i/len(sources)].Addresses[0], bed.Address(first + i)}
	}
	at := func(p pod, address string) int {
		return slices.IndexFunc(p.slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == address })
	}
	phases := [podPhases]func(pod, int){
		func(p pod, _ int) {
			e := &p.slice.Endpoints[at(p, p.old)]
			e.Conditions.Ready, e.Conditions.Terminating = ptr.To(false), ptr.To(true)
		},
		func(p pod, _ int) {
			i := at(p, p.old)
			p.slice.Endpoints = slices.Delete(p.slice.Endpoints, i, i+1)
		},
		func(p pod, i int) {
			e := bed.Endpoint(p.slice.Namespace, first+i)
			e.Conditions.Ready, e.Conditions.Serving = ptr.To(false), ptr.To(false)
			p.slice.Endpoints = append(p.slice.Endpoints, e)
		},
		func(p pod, _ int) {
			e := &p.slice.Endpoints[at(p, p.new)]
			e.Conditions.Ready, e.Conditions.Serving = ptr.To(true), ptr.To(true)
		},
	}
	for i := range n + (podPhases-1)*apart {
		for phase, change := range phases {
			k := i - phase*apart
			if k < 0 || k >= n {
				continue
			}
			change(pods[k], k)
			if err := from.Update(ctx, pods[k].slice); err != nil {
				return fmt.Errorf("replacing pod %d: %w", k, err)
			}
		}
	}
	return nil
}

// audience makes a namespace in all importing clusters and follows it there.
func (r *Run) audience(ctx context.Context, namespace string, clusters []*simulation.Member) ([]*bed.Observer, error) {
	if err := r.Bed.Namespace(ctx, namespace, exporter, importer); err != nil {
		return nil, err
	}
	o, err := bed.Observe(ctx, r.Bed.On[importer], namespace)
	observers := []*bed.Observer{o}
	for _, m := range clusters {
		if err == nil {
			err = m.Client.Create(ctx, bed.NamespaceObject(namespace))
		}
		if err == nil {
			o, err = bed.Observe(ctx, m.Client, namespace)
		}
		observers = append(observers, o)
	}
	if err != nil {
		return nil, fmt.Errorf("preparing namespace %s: %w", namespace, err)
	}
	return observers, bed.Pause(ctx, 2*time.Second) // agents follow the namespace
}

// traffic does something and returns what it has caused.
func (r *Run) traffic(ctx context.Context, clusters []*simulation.Member, do func() error) (traffic, error) {
	before, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return traffic{}, err
	}
	simulated := -simulatedWrites(clusters)
	all, err := r.countedAll(ctx, do)
	if err != nil {
		return traffic{}, err
	}
	by := func(cluster string, who func(audit.Write) bool) []audit.Write {
		return slices.DeleteFunc(ofSlices(all[cluster]), func(w audit.Write) bool { return !who(w) })
	}
	after, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return traffic{}, err
	}
	delta := func(name string, labels ...string) float64 {
		labels = append(labels, "resource", "endpointslices")
		return after.Sum(name, labels...) - before.Sum(name, labels...)
	}
	return traffic{
		onBroker: by(lab.Broker, byAgent), inImporter: by(importer, byAgent), inExporter: by(exporter, byAgent),
		collector: len(by(importer, byGarbageCollector)),
		simulated: simulated + simulatedWrites(clusters),
		// Bookmarks are sent now and then whatever happens, and have some 100 bytes.
		events: delta("apiserver_watch_events_total") - delta("apiserver_watch_events_sizes_bucket", "le", "1024"),
		bytes:  delta("apiserver_watch_events_sizes_sum"),
	}, nil
}

func simulatedWrites(clusters []*simulation.Member) int {
	n := 0
	for _, m := range clusters {
		n += m.API.Writes()["endpointslices"] + m.API.Wasted()["endpointslices"]
	}
	return n
}

// table puts what was measured beside the KEP's estimates.
func (s sampleCase) table(creation, deletion, update, rolling, pods traffic) figure.Table {
	t := figure.Table{
		Title: fmt.Sprintf("%s: %d endpoints, %d nodes or clusters", s.title, s.endpoints, s.nodes),
		Columns: []string{
			"", "KEP-0752, writes", "writes on the broker", "writes in an importing cluster", "requests of its garbage collector beside", "in a simulated one", "in the exporting cluster",
			"size of an event", "KEP-0752, watch events", fmt.Sprintf("for %d clusters", importers), fmt.Sprintf("for %d", s.nodes),
			"KEP-0752, bytes", fmt.Sprintf("for %d clusters", importers), fmt.Sprintf("for %d", s.nodes),
		},
	}
	share := float64(s.replaced) / s.rolling.writes
	for _, row := range []struct {
		name string
		kep  estimate
		of   traffic
		by   float64
	}{
		{"creation", s.creation, creation, 1},
		{"deletion", s.creation, deletion, 1},
		{"one endpoint's change", s.update, update, 1},
		{fmt.Sprintf("rolling update of %d", s.replaced), s.rolling, rolling, share},
		{fmt.Sprintf("%d pods replaced", s.replaced), s.rolling, pods, share},
	} {
		perCluster := float64(s.nodes) / importers
		t.Add(row.name, figure.Number(row.kep.writes*row.by),
			figure.Number(float64(len(row.of.onBroker))), figure.Number(float64(len(row.of.inImporter))),
			figure.Number(float64(row.of.collector)), figure.Number(float64(row.of.simulated)/(importers-1)), figure.Number(float64(len(row.of.inExporter))),
			figure.Bytes(row.of.bytes/max(1, row.of.events)),
			figure.Number(row.kep.events*row.by), figure.Number(row.of.events), figure.Number(row.of.events*perCluster),
			figure.Bytes(row.kep.bytes*row.by), figure.Bytes(row.of.bytes), figure.Bytes(row.of.bytes*perCluster),
		)
	}
	t.Notes = []string{
		fmt.Sprintf("The rolling update replaces %d endpoints, one in each write of the source, as the KEP reckons, whose estimates are given for as many.", s.replaced),
		fmt.Sprintf("Pods are replaced as Kubernetes' own controller shows it, by %d writes of the source for each: the old one terminates, is gone, the new one is there, is ready.", podPhases),
	}
	return t
}
