package simulation

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// proxied is what kube-proxy sees of an imported service: the endpoints of its slices, in the order of the watch.
type proxied struct {
	mu     sync.Mutex
	slices map[string]*discoveryv1.EndpointSlice
	// ready are the addresses with a ready endpoint, by port. without are the ports that had one and then had none.
	ready   map[string][]string
	without []string
}

// follow watches a member's imported slices until the test ends.
func follow(t *testing.T, m *Member, service string) *proxied {
	t.Helper()
	w, err := m.Client.Watch(t.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace("shop"), client.MatchingLabels{
		discoveryv1.LabelManagedBy: names.AgentManager, names.LabelServiceName: service,
	})
	planes.NoError(t, err)
	p := &proxied{slices: map[string]*discoveryv1.EndpointSlice{}}
	go func() {
		for e := range w.ResultChan() {
			p.event(e)
		}
	}()
	t.Cleanup(w.Stop)
	return p
}

func (p *proxied) event(e watch.Event) {
	slice, ok := e.Object.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slices[slice.Name] = slice; e.Type == watch.Deleted {
		delete(p.slices, slice.Name)
	}
	ready := map[string][]string{}
	for _, s := range p.slices {
		for _, port := range s.Ports {
			for _, e := range s.Endpoints {
				if ptr.Deref(e.Conditions.Ready, true) {
					ready[*port.Name] = append(ready[*port.Name], e.Addresses[0])
				}
			}
		}
	}
	for port := range p.ready {
		if len(ready[port]) == 0 {
			p.without = append(p.without, fmt.Sprintf("%s after %s of %s", port, e.Type, slice.Name))
		}
	}
	for port := range ready {
		slices.Sort(ready[port])
	}
	p.ready = ready
}

// TestDrains drains clusters at random, and makes endpoints unready. In each importing cluster, the endpoints that should are
// ready in the end, no address is in two slices of a port, and at no time is a port without a ready endpoint: the endpoints that
// take over are written first. One cluster has a port that no other has, which needs a slice of its own.
func TestDrains(t *testing.T) {
	t.Parallel()
	const steps = 40
	_, members := joinAll(t, 3, Options{})
	shop(t, members...)
	address := func(i int) string { return fmt.Sprintf("10.20%d.0.1", i+1) }
	for i, m := range members {
		service, slice := objects.Service("shop", "web", 80), objects.Slice("shop", "web-1", "web", address(i))
		if i == 0 {
			service = objects.Service("shop", "web", 80, 81)
			other := slice.Ports[0]
			other.Name, other.Port = ptr.To(service.Spec.Ports[1].Name), ptr.To(int32(8081))
			slice.Ports = append(slice.Ports, other)
		}
		planes.Create(t, m.Client, service, slice, objects.Export("shop", "web"))
	}
	var seen []*proxied
	for _, m := range members {
		seen = append(seen, follow(t, m, "web"))
	}
	drained, ready := make([]bool, len(members)), []bool{true, true, true}
	service := objects.Service("shop", "web", 80, 81)
	random := rand.New(rand.NewPCG(1, 2))
	expect := func(what string) {
		t.Helper()
		want := map[string][]string{}
		for _, p := range service.Spec.Ports {
			var usable, preferred []string
			for i := range members {
				if p.Port == 81 && i > 0 || !ready[i] {
					continue
				}
				if usable = append(usable, address(i)); !drained[i] {
					preferred = append(preferred, address(i))
				}
			}
			if len(preferred) == 0 {
				preferred = usable
			}
			if len(preferred) > 0 {
				want[p.Name] = preferred
			}
		}
		for i, p := range seen {
			planes.Eventually(t, fmt.Sprintf("in %s after %s", members[i].ID, what), func() error {
				p.mu.Lock()
				defer p.mu.Unlock()
				if len(p.without) > 0 {
					t.Fatalf("%s, %s: no endpoint was ready: %v", members[i].ID, what, p.without)
				}
				if !maps.EqualFunc(p.ready, want, slices.Equal) {
					return fmt.Errorf("ready are %v, want %v", p.ready, want)
				}
				return nil
			})
		}
	}
	expect("the beginning")
	for step := range steps {
		i := random.IntN(len(members))
		m, what := members[i], fmt.Sprintf("step %d: ", step)
		if random.IntN(3) > 0 {
			drained[i] = !drained[i]
			what += fmt.Sprintf("%s drained %v", m.ID, drained[i])
			planes.Change(t, m.Client, objects.Export("shop", "web"), func(e *mcsv1beta1.ServiceExport) {
				if e.Annotations = nil; drained[i] {
					e.Annotations = map[string]string{names.AnnotationDrained: "true"}
				}
			})
		} else if i > 0 { // cluster 0 has the only endpoint of a port
			ready[i] = !ready[i]
			what += fmt.Sprintf("%s ready %v", m.ID, ready[i])
			planes.Change(t, m.Client, objects.Slice("shop", "web-1", "web"), func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &ready[i], Serving: &ready[i], Terminating: ptr.To(false)}
			})
		}
		expect(what)
	}
	for i, m := range members {
		drained[i] = false
		planes.Change(t, m.Client, objects.Export("shop", "web"), func(e *mcsv1beta1.ServiceExport) { e.Annotations = nil })
	}
	expect("the end of all drains")
	for i, p := range seen {
		planes.Eventually(t, fmt.Sprintf("in %s nothing is left of the drains", members[i].ID), func() error {
			p.mu.Lock()
			defer p.mu.Unlock()
			var left []string
			for _, s := range p.slices {
				if s.Annotations[names.AnnotationPorts] != "" || s.Labels[names.LabelStandby] != "" || s.Annotations[names.LabelStandby] != "" {
					left = append(left, s.Name)
				}
			}
			if len(left) > 0 || len(p.slices) != len(members) {
				return fmt.Errorf("%d slices, of which with marks: %s", len(p.slices), strings.Join(left, " "))
			}
			return nil
		})
	}
}
