package convergence

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// TestChangesAreWrittenAtTheirTime changes the endpoints of a Service in one cluster and
// records the writes on the broker, in the own import and in the other cluster. The rate
// limiter lets five changes of a slice pass at once. Later changes share a write each time the
// limiter has a token, every 50 ms. Slices do not wait for each other, and each write carries
// the trigger time of its source.
func TestChangesAreWrittenAtTheirTime(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		p := newPaced(t)
		views := map[string]*recorder{"broker": p.watch(p.admin), "own import": p.watch(p.from), "import": p.watch(p.to)}
		for _, v := range views {
			defer v.watch.Stop()
		}
		p.began = time.Now()
		for _, step := range []struct {
			at     time.Duration
			slice  string
			change func(*discoveryv1.EndpointSlice)
		}{
			{0, "a", add(1)},
			{1 * time.Millisecond, "a", add(2)},
			{2 * time.Millisecond, "a", add(3)},
			{3 * time.Millisecond, "a", add(4)},
			{4 * time.Millisecond, "a", add(5)},
			{5 * time.Millisecond, "a", add(6)},
			{10 * time.Millisecond, "b", add(7)}, // slices do not share a limit
			{20 * time.Millisecond, "a", unready(1)},
			{60 * time.Millisecond, "a", remove(1)},
			// The rate limiter is full again after a second without changes.
			{1000 * time.Millisecond, "a", add(8)},
			{1010 * time.Millisecond, "b", remove(7)},
		} {
			<-time.After(step.at - time.Since(p.began))
			p.change(step.slice, step.at, step.change)
		}
		<-time.After(3 * time.Second)
		want := []string{
			"0 a of 0", "1 a of 1", "2 a of 2", "3 a of 3", "4 a of 4", "10 b of 10", "50 a of 20", "100 a of 60",
			"1000 a of 1000", "1010 b of 1010",
		}
		for name, v := range views {
			if got := v.writes(p.began); !slices.Equal(got, want) {
				t.Errorf("%s: written in ms:\n got %s\nwant %s", name, strings.Join(got, ", "), strings.Join(want, ", "))
			}
		}
	})
}

// If objects on the broker change all the time, the agent writes its own objects no faster than
// the limit of a namespace. In the end the agent's objects match the broker's.
func TestWhatChangesAllTheTime(t *testing.T) {
	const changes, atOnce, perSecond = 5000, 1000, 100
	for name, tt := range map[string]struct {
		list   client.ObjectList
		change func(t *testing.T, admin client.Client, i int)
		last   func(p *paced) error
	}{
		"record": {&mcsv1beta1.ServiceImportList{}, func(t *testing.T, admin client.Client, _ int) {
			planes.Change(t, admin, made.Record("other", "shop", "web"), func(r *brokerv1alpha1.ExportedService) { layout.SetRevision(r, layout.Revision(r)) })
		}, func(p *paced) error {
			record, imp := made.Record("other", "shop", "web"), made.Import("shop", "web")
			planes.Read(p.T, p.admin, record)
			planes.Read(p.T, p.to, imp)
			if applied, last := imp.Annotations[names.AnnotationApplied], fmt.Sprintf("other=%d", layout.Revision(record)); !strings.Contains(applied, last) {
				return fmt.Errorf("the import is made of %s, and not of %s", applied, last)
			}
			return nil
		}},
		"slice": {&discoveryv1.EndpointSliceList{}, func(t *testing.T, admin client.Client, i int) {
			planes.Change(t, admin, made.Published("other", "shop", "x", "web"), func(s *discoveryv1.EndpointSlice) {
				s.Endpoints[0].Zone = ptr.To(fmt.Sprint("zone-", i)) // neither adds nor withdraws anything
				layout.SetRevision(s, layout.Revision(s))
			})
		}, func(p *paced) error {
			all := &discoveryv1.EndpointSliceList{}
			planes.NoError(p.T, p.to.List(p.Context(), all, client.MatchingLabels{names.LabelSourceCluster: "other"}))
			if len(all.Items) != 1 || *all.Items[0].Endpoints[0].Zone != fmt.Sprint("zone-", changes-1) {
				return fmt.Errorf("imported is %v", all.Items)
			}
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) {
				p := newPaced(t)
				planes.Create(t, p.admin, made.Record("other", "shop", "web", made.Port(80)), made.Published("other", "shop", "x", "web", "10.1.0.1"))
				p.within("the service is imported", time.Minute, p.has("web", "10.1.0.1", "10.200.0.100", "10.200.0.101"))
				w, err := p.to.Watch(t.Context(), tt.list, client.InNamespace("shop"))
				planes.NoError(t, err)
				written := make(chan int, 1)
				go func() {
					n := 0
					for range w.ResultChan() {
						n++
					}
					written <- n
				}()
				began := time.Now()
				for i := range changes {
					<-time.After(time.Millisecond)
					tt.change(t, p.admin, i)
				}
				took := time.Since(began)
				<-time.After(time.Minute)
				w.Stop()
				if n := <-written; n < atOnce-10 || n > atOnce+int(took.Seconds()*perSecond)+20 {
					t.Errorf("%d writes in %v, want about the burst plus the rate", n, took)
				}
				planes.NoError(t, tt.last(p))
			})
		})
	}
}

// When a namespace appears, the agent reads everything for the namespace at once, however much.
// Only a member over its budget has to wait.
func TestNamespaceThatAppearsIsFilledAtOnce(t *testing.T) {
	const many = 600
	inBubble(t, func(t *testing.T) {
		p := newPair(t, simulation.Options{})
		planes.Delete(t, p.to, made.Namespace("shop"))
		p.export("web", "10.200.0.1")
		for i := range many {
			planes.Create(t, p.from, made.Slice("shop", fmt.Sprint("more-", i), "web", "10.200.0.2"))
		}
		<-time.After(time.Minute)
		planes.Create(t, p.to, made.Namespace("shop"))
		<-time.After(3 * time.Second)
		if n := len(p.endpoints(p.to, "web")); n != many+1 {
			t.Errorf("%d of %d slices are imported", n, many+1)
		}
	})
}

// paced is a pair that exports a Service with changing endpoints.
type paced struct {
	*pair
	slices map[string]*discoveryv1.EndpointSlice
	began  time.Time
}

// newPaced exports a Service with two slices and returns when no write is pending.
func newPaced(t *testing.T) *paced {
	p := &paced{pair: newPair(t, simulation.Options{}), slices: map[string]*discoveryv1.EndpointSlice{}}
	for i, name := range []string{"a", "b"} {
		p.slices[name] = made.Slice("shop", name, "web")
		add(100 + i)(p.slices[name])
		planes.Create(t, p.from, p.slices[name])
	}
	planes.Create(t, p.from, made.Service("shop", "web", 80), made.Export("shop", "web"))
	<-time.After(5 * time.Second) // of the bubble
	return p
}

func endpoint(number int) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.200.0.%d", number)}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}
}

func add(number int) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.Endpoints = append(s.Endpoints, endpoint(number)) }
}

// unready marks an endpoint as not ready.
func unready(number int) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Endpoints[at(s, number)].Conditions.Ready = ptr.To(false)
	}
}

func remove(number int) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = slices.Delete(s.Endpoints, at(s, number), at(s, number)+1)
	}
}

func at(s *discoveryv1.EndpointSlice, number int) int {
	return slices.IndexFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == endpoint(number).Addresses[0] })
}

// change updates a slice as Kubernetes' controller does, with a trigger time.
func (p *paced) change(name string, now time.Duration, f func(*discoveryv1.EndpointSlice)) {
	p.Helper()
	s := p.slices[name]
	f(s)
	s.Annotations = map[string]string{names.AnnotationLastChangeTriggerTime: p.began.Add(now).UTC().Format(time.RFC3339Nano)}
	planes.NoError(p.T, p.from.Update(p.Context(), s))
}

// recorder records the time of each write of Atoll's slices.
type recorder struct {
	watch watch.Interface
	seen  chan []written
}

type written struct {
	at    time.Time
	slice *discoveryv1.EndpointSlice
}

func (p *paced) watch(c client.WithWatch) *recorder {
	p.Helper()
	list := &discoveryv1.EndpointSliceList{}
	planes.NoError(p.T, c.List(p.Context(), list, planes.Managed))
	if len(list.Items) != 2 {
		p.Fatalf("%d slices are imported, want 2", len(list.Items))
	}
	w, err := c.Watch(p.Context(), list, planes.Managed, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	planes.NoError(p.T, err)
	r := &recorder{w, make(chan []written, 1)}
	go func() {
		var all []written
		for event := range w.ResultChan() {
			if s, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
				all = append(all, written{time.Now(), s})
			}
		}
		r.seen <- all
	}()
	return r
}

// writes ends the recording and returns which slice was written when, with the trigger time of
// the change, in ms.
func (r *recorder) writes(began time.Time) []string {
	r.watch.Stop()
	var all []string
	for _, w := range <-r.seen {
		of := "nothing"
		if at, err := time.Parse(time.RFC3339Nano, w.slice.Annotations[names.AnnotationLastChangeTriggerTime]); err == nil {
			of = fmt.Sprint(at.Sub(began).Milliseconds())
		}
		all = append(all, fmt.Sprintf("%d %s of %s", w.at.Sub(began).Milliseconds(), w.slice.Annotations[names.AnnotationSourceSlice], of))
	}
	return all
}
