package cases

import (
	"context"
	"errors"
	"fmt"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// localCost is what a cluster's own things need.
type localCost struct {
	proxyMemory, dnsMemory float64 // MiB
	syncs                  []time.Duration
	requests               []time.Duration
}

// cost measures what a cluster's own proxy, DNS and Services are like without imported endpoints and with many, and what
// they are like where as many are another cluster's own.
func cost(ctx context.Context, r *Run, c *figure.Case) error {
	here, err := r.subject(exporter)
	if err != nil {
		return err
	}
	there, err := r.subject(importer)
	if err != nil {
		return err
	}
	target, err := here.plainService(ctx)
	if err != nil {
		return err
	}
	r.Say("cost: without imports")
	without, err := here.cost(ctx, target)
	if err != nil {
		return err
	}
	if err := r.populate(ctx); err != nil {
		return err
	}
	own, err := r.ownCost(ctx, there)
	if err != nil {
		return err
	}
	began := time.Now()
	observers, err := r.imported(ctx, exporter)
	if err != nil {
		return err
	}
	endpoints := 0
	for _, o := range observers {
		endpoints += len(o.Addresses())
	}
	imported := time.Since(began)
	programmed, err := here.programmed(ctx)
	if err != nil {
		return err
	}
	r.Say("cost: with %d endpoints", endpoints)
	with, err := here.cost(ctx, target)
	if err != nil {
		return err
	}
	programming, arrival, err := r.programming(ctx, here)
	if err != nil {
		return err
	}
	c.Notes = append(c.Notes,
		fmt.Sprintf("the floor is the same cluster without imports; then %d endpoints of %d services were imported", endpoints, len(r.fleet.services)),
		fmt.Sprintf("they were there %.1f s after their namespaces, and kube-proxy was done with them %.1f s after that", imported.Seconds(), programmed.Seconds()),
		"where it says own, the floor is another cluster that has as many endpoints of its own, in Services and slices of the same sizes")
	c.Add(with.beside(without, "")...)
	c.Add(with.beside(own, ", to own")...)
	c.Add(programming.OnFloor(arrival).
		Because("by kube-proxy's own metric, from the trigger time in the source slice; the floor is until the change is in the cluster's slices, by a watch"))
	return nil
}

// beside are the figures of a cluster on those of another, or of the same before.
func (with localCost) beside(floor localCost, remark string) []figure.Figure {
	times := func(name string, got, floor []time.Duration) figure.Figure {
		return figure.Times(name+remark, figure.Milliseconds, got).OnFloor(figure.Times("", figure.Milliseconds, floor))
	}
	memory := func(name string, got, floor float64) figure.Figure {
		return figure.New(name+remark, figure.MiB, got).OnFloor(figure.New("", figure.MiB, floor))
	}
	return []figure.Figure{
		times("kube-proxy's sync when a plain Service changes", with.syncs, floor.syncs),
		memory("kube-proxy's memory", with.proxyMemory, floor.proxyMemory),
		memory("stock CoreDNS's memory", with.dnsMemory, floor.dnsMemory),
		times("a request to the plain Service, over a new connection", with.requests, floor.requests),
	}
}

// ownCost gives a cluster the fleet's services as its own, measures it, and takes them away again.
func (r *Run) ownCost(ctx context.Context, p subject) (localCost, error) {
	target, err := p.plainService(ctx)
	if err != nil {
		return localCost{}, err
	}
	r.Say("giving %s as many endpoints of its own", p.cluster.Name)
	for _, s := range r.fleet.services {
		s.Namespace = "own-" + s.Namespace
		if err := p.bed.Namespace(ctx, s.Namespace, p.cluster.Name); err != nil {
			return localCost{}, err
		}
		if err := s.Create(ctx, p.client()); err != nil {
			return localCost{}, err
		}
	}
	if _, err := p.programmed(ctx); err != nil {
		return localCost{}, err
	}
	r.Say("cost: of as many own ones")
	found, err := p.cost(ctx, target)
	for _, s := range r.fleet.services {
		err = errors.Join(err, p.client().Delete(ctx, bed.NamespaceObject("own-"+s.Namespace)))
	}
	return found, err
}

// programming changes imported endpoints, and returns kube-proxy's own word for how long it
// took until they were in effect, and when they were in the cluster's slices.
func (r *Run) programming(ctx context.Context, p subject) (proxy, arrival figure.Figure, err error) {
	const changes = 10
	const sum, count = "kubeproxy_network_programming_duration_seconds_sum", "kubeproxy_network_programming_duration_seconds_count"
	var own, arrivals []time.Duration
	for i := range changes {
		s, m := r.fleet.services[i], r.fleet.members[i]
		o, err := bed.Observe(ctx, p.client(), s.Namespace)
		if err != nil {
			return proxy, arrival, err
		}
		slice := &discoveryv1.EndpointSlice{}
		if err := m.Client.Get(ctx, client.ObjectKey{Namespace: s.Namespace, Name: s.Slices()[0].Name}, slice); err != nil {
			return proxy, arrival, err
		}
		before, err := p.metricsAt(ctx, proxyMetrics)
		if err != nil {
			return proxy, arrival, err
		}
		began := time.Now()
		slice.Endpoints[0] = bed.Endpoint(s.Namespace, freshAddresses+1000000+i)
		metav1.SetMetaDataAnnotation(&slice.ObjectMeta, names.AnnotationLastChangeTriggerTime, began.UTC().Format(time.RFC3339Nano))
		if err := m.Client.Update(ctx, slice); err != nil {
			return proxy, arrival, err
		}
		at, err := o.Await(ctx, bed.Appeared(slice.Endpoints[0].Addresses[0]))
		if err != nil {
			return proxy, arrival, err
		}
		arrivals = append(arrivals, at.Sub(began))
		took, err := p.grownBy(ctx, before, sum, count)
		if err != nil {
			return proxy, arrival, err
		}
		own = append(own, took)
	}
	const name = "until an imported endpoint's change is in effect"
	return figure.Times(name, figure.Milliseconds, own), figure.Times(name, figure.Milliseconds, arrivals), nil
}
