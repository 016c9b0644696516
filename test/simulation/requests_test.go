package simulation

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// encodings records the content types of requests and responses for built-in kinds.
type encodings struct {
	mu   sync.Mutex
	seen map[string]int // by resource, direction and content type
}

func (e *encodings) of(next http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		response, err := next.RoundTrip(r)
		resource := ""
		for _, name := range []string{"services", "endpointslices", "nodes", "secrets", "namespaces"} { // most are in namespaces
			if resource == "" && strings.Contains(r.URL.Path+"/", "/"+name+"/") {
				resource = name
			}
		}
		builtIn := strings.HasPrefix(r.URL.Path, "/api/v1/") || strings.HasPrefix(r.URL.Path, "/apis/discovery.k8s.io/")
		if err != nil || resource == "" || !builtIn {
			return response, err
		}
		e.mu.Lock()
		defer e.mu.Unlock()
		if response.StatusCode < http.StatusBadRequest {
			e.seen["read "+resource+" "+response.Header.Get("Content-Type")]++
		}
		if r.Method == http.MethodPost || r.Method == http.MethodPut {
			e.seen["written "+resource+" "+r.Header.Get("Content-Type")]++
		}
		return response, nil
	})
}

// TestBuiltInKindsTravelAsProtobuf has an agent export and import, and looks at its requests in its own cluster and
// on the broker: JSON of the same slices costs several times the processor time to read.
func TestBuiltInKindsTravelAsProtobuf(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 2, Options{})
	watched := members[1]
	planes.NoError(t, watched.Stop())
	travels := &encodings{seen: map[string]int{}}
	watched.options.Local.Wrap(travels.of)
	watched.options.Broker.Wrap(travels.of)
	planes.NoError(t, watched.Start(t.Context()))
	for i, m := range members {
		exportFrom(t, m, i, 1)
		planes.NoError(t, members[1-i].Client.Create(t.Context(), objects.Namespace(namespaceOf(i))))
	}
	for _, m := range members {
		eventually(t, "both are imported", func(ctx context.Context) error { return importsReady(ctx, m, 2, 2) })
	}
	travels.mu.Lock()
	defer travels.mu.Unlock()
	for _, needed := range []string{"read endpointslices", "read services", "read namespaces", "written endpointslices", "written services"} {
		found := false
		for what := range travels.seen {
			found = found || strings.HasPrefix(what, needed+" application/vnd.kubernetes.protobuf")
		}
		if !found {
			t.Errorf("%s: not as protobuf, or never; there were %v", needed, travels.seen)
		}
	}
	for what, n := range travels.seen {
		if !strings.Contains(what, "application/vnd.kubernetes.protobuf") {
			t.Errorf("%s: %d times", what, n)
		}
	}
}

// gate holds up writes of slices, releases them one by one, and records their order.
type gate struct {
	mu    sync.Mutex
	order []string
	pass  chan struct{} // a closed channel releases all writes
}

func (g *gate) of(next http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if (r.Method == http.MethodPut || r.Method == http.MethodPatch) && strings.Contains(r.URL.Path, "/endpointslices/") {
			g.mu.Lock()
			g.order = append(g.order, path.Base(r.URL.Path))
			g.mu.Unlock()
			<-g.pass
		}
		return next.RoundTrip(r)
	})
}

// begun returns the slices whose writes have begun, in order.
func (g *gate) begun() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.order)
}

// queued returns the queue length, at the priority of live changes, of the reconciler that
// writes imported slices. The count includes requests that stopped agents of this process left
// behind.
func queued(t *testing.T) (n float64) {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	planes.NoError(t, err)
	for _, family := range families {
		if family.GetName() != "workqueue_depth" {
			continue
		}
		for _, m := range family.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if labels["name"] == "importedslice" && labels["priority"] == "0" {
				n += m.GetGauge().GetValue()
			}
		}
	}
	return n
}

// TestLiveChangesComeBeforeTheFirstList restarts an agent after each of 100 imported services
// has changed. While the workers write the first changes, one more endpoint changes. The agent
// must write that change next, not last.
func TestLiveChangesComeBeforeTheFirstList(t *testing.T) {
	const services, workers = 100, 8
	b, members := joinAll(t, 2, Options{})
	exporter, importer := members[0], members[1]
	ns := namespaceOf(0)
	for _, m := range members {
		planes.Create(t, m.Client, objects.Namespace(ns))
	}
	for i := range services {
		name := fmt.Sprintf("s%d", i)
		planes.Create(t, exporter.Client, objects.Service(ns, name, 80), objects.Slice(ns, name, name, address(1, i)), objects.Export(ns, name))
	}
	eventually(t, "all is imported", func(ctx context.Context) error { return importsReady(ctx, importer, services, services) })

	planes.NoError(t, importer.Stop())
	sources := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, exporter.Client.List(t.Context(), sources, client.InNamespace(ns), client.HasLabels{discoveryv1.LabelServiceName}))
	var changed []string
	for _, s := range sources.Items {
		if s.Labels[names.LabelServiceName] != "" {
			continue // imported by the exporter
		}
		var i int
		if _, err := fmt.Sscanf(s.Labels[discoveryv1.LabelServiceName], "s%d", &i); err != nil {
			t.Fatal(err)
		}
		s.Endpoints[0].Addresses[0] = address(2, i)
		planes.NoError(t, exporter.Client.Update(t.Context(), &s))
		changed = append(changed, address(2, i))
	}
	eventually(t, "all changes are on the broker", func(ctx context.Context) error { return holds(ctx, b.Admin, changed) })
	planes.NoError(t, exporter.Stop()) // its requests would count in the same metric

	left := queued(t)
	held := &gate{pass: make(chan struct{})}
	open := sync.OnceFunc(func() { close(held.pass) })
	t.Cleanup(open)
	importer.options.Local.Wrap(held.of)
	planes.NoError(t, importer.Start(t.Context()))
	eventually(t, "all workers are writing", func(context.Context) error {
		if n := len(held.begun()); n < workers {
			return fmt.Errorf("%d are", n)
		}
		return nil
	})
	if n := queued(t) - left; n > 0 {
		t.Fatalf("%v requests of the first list have the priority of live changes", n)
	}
	left = queued(t) // less than before if a worker of a stopped agent took one more
	late := notBegun(t, importer, held)
	onItsWay := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, b.Admin.List(t.Context(), onItsWay, client.MatchingLabels{names.LabelServiceName: late.Labels[names.LabelServiceName]}))
	if len(onItsWay.Items) != 1 {
		t.Fatalf("%d slices on the broker", len(onItsWay.Items))
	}
	onItsWay.Items[0].Endpoints[0].Addresses[0] = "10.250.0.1"
	planes.NoError(t, b.Admin.Update(t.Context(), &onItsWay.Items[0]))
	eventually(t, "the change waits for a worker", func(context.Context) error {
		if queued(t)-left < 1 {
			return fmt.Errorf("the queue did not grow")
		}
		return nil
	})
	held.pass <- struct{}{} // one worker becomes free and takes the next request
	eventually(t, "that worker writes again", func(context.Context) error {
		if n := len(held.begun()); n <= workers {
			return fmt.Errorf("%d writes have begun", n)
		}
		return nil
	})
	if next := held.begun()[workers]; next != late.Name {
		t.Errorf("the next write is of %s, want %s, which has just changed", next, late.Name)
	}
	open()
	eventually(t, "all is written", func(ctx context.Context) error {
		if n := len(held.begun()); n < services {
			return fmt.Errorf("%d slices are", n)
		}
		return holds(ctx, importer.Client, []string{"10.250.0.1"})
	})
}

func address(third, i int) string { return fmt.Sprintf("10.99.%d.%d", third, i+1) }

// notBegun returns an imported slice whose write has not begun.
func notBegun(t *testing.T, m *Member, g *gate) discoveryv1.EndpointSlice {
	t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, m.Client.List(t.Context(), list, planes.Managed))
	begun := g.begun()
	i := slices.IndexFunc(list.Items, func(s discoveryv1.EndpointSlice) bool { return !slices.Contains(begun, s.Name) })
	if i < 0 {
		t.Fatal("all have begun")
	}
	return list.Items[i]
}
