package cases

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// held is what an agent has of others' endpoints, and what that cost.
type held struct {
	namespaces, slices, heap, received float64
}

// held asks the agent of the cluster that interest is about.
func (r *Run) held(ctx context.Context) (held, error) {
	m, err := r.Bed.AgentMetrics(ctx, exporter)
	return held{
		namespaces: m.Sum("atoll_followed_namespaces", "of", "broker"), slices: m.Sum("atoll_followed_endpointslices", "of", "broker"),
		heap: m.Sum("go_memstats_heap_alloc_bytes") / mib, received: m.Sum("atoll_broker_bytes_total", "direction", "received") / mib,
	}, err
}

// interest has a cluster import more and more of what 40 others export, and less again, with
// an agent that shows what it holds and gets. The cluster is the one that the other cases
// export from.
func interest(ctx context.Context, r *Run, c *figure.Case) error {
	if err := r.populate(ctx); err != nil {
		return err
	}
	table := figure.Table{
		Title: fmt.Sprintf("One of %d clusters that export %d endpoints in %d slices, each in a namespace of its own", fleetSize+1, r.sized(fleetEndpoints), r.sized(fleetSlices)),
		Columns: []string{
			"of their namespaces the cluster has", "slices that the agent holds", "its live heap, MiB", "received from the broker until current, MiB",
			"and for one change in each cluster, KiB",
		},
	}
	var full, tenth held
	for i, n := range []int{0, fleetSize / 10, fleetSize} {
		r.Say("interest: %d of %d namespaces", n, fleetSize)
		if _, err := r.importedBy(ctx, exporter, r.fleet.services[:n]); err != nil {
			return err
		}
		h, changes, err := r.afterStart(ctx, freshAddresses+2000000+i*fleetSize)
		if err != nil {
			return err
		}
		switch i {
		case 1:
			tenth = h
		case 2:
			full = h
		}
		table.Add(fmt.Sprint(n), figure.Number(h.slices), figure.Number(h.heap), figure.Number(h.received), figure.Number(changes*1024))
	}
	narrowed, err := r.narrow(ctx, r.fleet.services[fleetSize/10:])
	if err != nil {
		return err
	}
	table.Add(fmt.Sprintf("%d again, without a restart", fleetSize/10), figure.Number(narrowed.slices), figure.Number(narrowed.heap), "–", "–")
	c.Tables = append(c.Tables, table)
	c.Add(
		figure.New("slices held by an agent with a tenth of the namespaces", figure.Percent, 100*tenth.slices/full.slices).AtMost(10),
		figure.New("slices held after the other namespaces have gone", figure.Percent, 100*narrowed.slices/full.slices).AtMost(10),
	)
	own, err := r.ownServices(ctx)
	if err != nil {
		return err
	}
	c.Add(own...)
	elsewhere, err := r.exportedElsewhere(ctx)
	if err != nil {
		return err
	}
	c.Add(elsewhere...)
	_, err = r.narrow(ctx, r.fleet.services[:fleetSize/10])
	return err
}

// afterStart starts the agent anew, and returns what it holds and has got when it is current,
// and how many MiB it gets for one change in each of the other clusters.
func (r *Run) afterStart(ctx context.Context, fresh int) (h held, changes float64, err error) {
	if err := r.Bed.StopAgents(ctx, exporter); err != nil {
		return h, 0, err
	}
	if err := r.Bed.StartAgents(ctx, exporter); err != nil {
		return h, 0, err
	}
	if err := r.Bed.AgentsReady(ctx); err != nil {
		return h, 0, err
	}
	if err := bed.Pause(ctx, calm); err != nil {
		return h, 0, err
	}
	if h, err = r.held(ctx); err != nil {
		return h, 0, err
	}
	if _, err := r.changeAll(ctx, fresh); err != nil {
		return h, 0, err
	}
	if err := bed.Pause(ctx, calm); err != nil {
		return h, 0, err
	}
	after, err := r.held(ctx)
	return h, after.received - h.received, err
}

// narrow deletes the namespaces of services, and returns what the agent holds when it has
// followed.
func (r *Run) narrow(ctx context.Context, services []bed.Service) (held, error) {
	before, err := r.held(ctx)
	if err != nil {
		return held{}, err
	}
	for _, s := range services {
		if err := r.Bed.On[exporter].Delete(ctx, bed.NamespaceObject(s.Namespace)); client.IgnoreNotFound(err) != nil {
			return held{}, err
		}
	}
	var now held
	err = until(ctx, func() (string, error) {
		if now, err = r.held(ctx); now.namespaces <= before.namespaces-float64(len(services)) {
			return "", err
		}
		return "until the agent follows less", err
	})
	return now, err
}

// until looks twice a second until there is nothing to wait for any more, or an error. What look returns is what is waited for, "" for
// nothing.
func until(ctx context.Context, look func() (waiting string, err error)) error {
	for {
		waiting, err := look()
		if err != nil || waiting == "" {
			return err
		}
		if err := bed.Pause(ctx, 500*time.Millisecond); err != nil {
			return fmt.Errorf("waiting %s: %w", waiting, err)
		}
	}
}

// ownServices measures what Services of the agent's own cluster cost it that nobody exports; and what they do at worst, when one
// more is exported in their namespace: then the agent holds the slices of all of them.
func (r *Run) ownServices(ctx context.Context) ([]figure.Figure, error) {
	const namespace, endpoints = "bench-own", 20
	n := r.sized(2000)
	r.Say("interest: %d Services of the cluster's own, which nobody exports", n)
	without, err := r.held(ctx)
	if err != nil {
		return nil, err
	}
	services := small(namespace, "own", n)
	for i := range services {
		services[i].Endpoints, services[i].First = endpoints, i*endpoints
	}
	on := r.Bed.On[exporter]
	if err := r.Bed.Namespace(ctx, namespace, exporter); err != nil {
		return nil, err
	}
	if err := bed.Each(ctx, services, func(ctx context.Context, s bed.Service) error { return s.Create(ctx, on) }); err != nil {
		return nil, err
	}
	if err := bed.Pause(ctx, calm); err != nil {
		return nil, err
	}
	none, err := r.held(ctx)
	if err != nil {
		return nil, err
	}
	r.Say("interest: one of them is exported")
	if err := services[0].Export(ctx, on); err != nil {
		return nil, err
	}
	one, err := r.holding(ctx, n)
	if err != nil {
		return nil, err
	}
	each := func(name string, with held) figure.Figure {
		return figure.New(name, "KiB", (with.heap-without.heap)*1024/float64(n))
	}
	return []figure.Figure{
		each("heap for each Service of the cluster's own that nobody exports, with its EndpointSlice", none).
			Because(fmt.Sprintf("%d of them, in one namespace, with %d endpoints each", n, endpoints)),
		each("and where one in their namespace is exported", one),
		figure.New("live heap where one in their namespace is exported", figure.MiB, one.heap).OnFloor(figure.New("", figure.MiB, none.heap)).
			Because("the floor is the heap where none is: all EndpointSlices of the cluster's own are what an agent would hold that did not choose"),
	}, removed(ctx, on, namespace)
}

// removed deletes a namespace, and returns when agents have had the time to forget what was in it, so that what is measured next
// does not begin with that.
func removed(ctx context.Context, on client.Client, name string) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if err := on.Delete(ctx, namespace); err != nil {
		return err
	}
	err := until(ctx, func() (string, error) {
		err := on.Get(ctx, client.ObjectKeyFromObject(namespace), namespace)
		if apierrors.IsNotFound(err) {
			return "", nil
		}
		return "for the end of namespace " + name, err
	})
	if err != nil {
		return err
	}
	return bed.Pause(ctx, calm)
}

// holding returns what the agent holds when it has so many slices of its own cluster.
func (r *Run) holding(ctx context.Context, slices int) (held, error) {
	err := until(ctx, func() (string, error) {
		m, err := r.Bed.AgentMetrics(ctx, exporter)
		have := m.Sum("atoll_followed_endpointslices", "of", "own")
		if have >= float64(slices) {
			return "", err
		}
		return fmt.Sprintf("until the agent holds %d EndpointSlices of its own cluster, and not %.0f", slices, have), err
	})
	if err != nil {
		return held{}, err
	}
	if err := bed.Pause(ctx, calm); err != nil {
		return held{}, err
	}
	return r.held(ctx)
}

// exportedElsewhere measures what services cost the agent that others export in namespaces that its cluster does not
// have: their records and the catalogue's entries, which it copies, but none of their endpoints.
func (r *Run) exportedElsewhere(ctx context.Context) ([]figure.Figure, error) {
	const namespace = "bench-elsewhere"
	n := r.sized(1000)
	r.Say("interest: %d services exported in a namespace that the cluster does not have", n)
	before, err := r.held(ctx)
	if err != nil {
		return nil, err
	}
	m := r.fleet.members[0]
	if err := m.Client.Create(ctx, bed.NamespaceObject(namespace)); err != nil {
		return nil, err
	}
	services := small(namespace, "elsewhere", n)
	for _, s := range services {
		if err := errors.Join(s.Create(ctx, m.Client), s.Export(ctx, m.Client)); err != nil {
			return nil, err
		}
	}
	if err := r.recorded(ctx, namespace, n); err != nil {
		return nil, err
	}
	after, err := r.held(ctx)
	if err != nil {
		return nil, err
	}
	for _, s := range services {
		if err := s.Delete(ctx, m.Client); err != nil {
			return nil, err
		}
	}
	return []figure.Figure{
		figure.New("heap for each service exported in namespaces that the cluster does not have", "KiB", (after.heap-before.heap)*1024/float64(n)),
		figure.New("received from the broker for each of them, once", "KiB", (after.received-before.received)*1024/float64(n)),
	}, r.recorded(ctx, namespace, 0)
}

// recorded waits until the broker's catalogue has so many services of a namespace, and the agents have had the time to
// hear of them.
func (r *Run) recorded(ctx context.Context, namespace string, n int) error {
	err := until(ctx, func() (string, error) {
		entries := &mcsv1beta1.ServiceImportList{}
		err := r.Bed.On[lab.Broker].List(ctx, entries, client.InNamespace(broker.DefaultNamespace), client.MatchingLabels{names.LabelServiceNamespace: namespace})
		if len(entries.Items) == n {
			return "", err
		}
		return fmt.Sprintf("for %d services of %s in the catalogue, of which there are %d", n, namespace, len(entries.Items)), err
	})
	if err != nil {
		return err
	}
	return bed.Pause(ctx, calm)
}
