package convergence

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// TestChangesAreWrittenAtTheirTime has one cluster change the endpoints of a Service, and looks when that is
// on the broker, in the own import and in the other cluster's: the first change of a slice at once, what
// follows it together half a second after, or 50 ms after where clients must stop using something.
// Slices do not wait for each other, and each says when the first of its changes happened.
func TestChangesAreWrittenAtTheirTime(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		b, onBroker, err := simulation.MemoryBroker()
		if err != nil {
			t.Fatal(err)
		}
		p, members, stop := pair(ctx, t, b)
		defer stop()
		p.export(members[1].Client)
		views := map[string]*recorder{
			"broker":     p.record(onBroker),
			"own import": p.record(members[0].Client),
			"import":     p.record(members[1].Client),
		}
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
			{10 * time.Millisecond, "a", add(2)},
			{20 * time.Millisecond, "b", add(3)}, // which has nothing to do with a
			{300 * time.Millisecond, "a", add(4)},
			// After a second of calm.
			{2000 * time.Millisecond, "a", add(5)},
			{2010 * time.Millisecond, "a", add(6)},
			{2020 * time.Millisecond, "a", unready(1)}, // takes along what waits
			{2080 * time.Millisecond, "a", remove(1)},  // of which nobody makes use any more
			{3000 * time.Millisecond, "b", remove(3)},
		} {
			<-time.After(step.at - time.Since(p.began))
			p.change(step.slice, step.at, step.change)
		}
		<-time.After(3 * time.Second)
		want := []string{
			"0 a of 0", "20 b of 20", "500 a of 10",
			"2000 a of 2000", "2050 a of 2010", "2550 a of 2080", "3000 b of 3000",
		}
		for name, v := range views {
			if got := v.writes(p.began); !slices.Equal(got, want) {
				t.Errorf("%s: written in ms:\n got %s\nwant %s", name, strings.Join(got, ", "), strings.Join(want, ", "))
			}
		}
	})
}

// TestTimesOfChangesSurvive has the broker refuse a write for a while, and a slice come that is for something which
// happened before its Service was last looked at as a whole, as Kubernetes' times, of whole seconds, have it. What is written in
// the end says when the first of its changes happened, for a metric that shall have what it waited.
func TestTimesOfChangesSurvive(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		b, onBroker, err := simulation.MemoryBroker()
		if err != nil {
			t.Fatal(err)
		}
		way := &refusing{Broker: b}
		p, members, stop := pair(ctx, t, way)
		defer stop()
		p.export(members[1].Client)
		views := map[string]*recorder{"broker": p.record(onBroker), "import": p.record(members[1].Client)}
		for _, v := range views {
			defer v.watch.Stop()
		}
		p.began = time.Now()
		way.refuse.Store(true)
		p.change("a", 0, add(1))
		<-time.After(time.Second)
		p.change("a", time.Second, add(2))
		<-time.After(time.Millisecond)
		way.refuse.Store(false)
		<-time.After(10 * time.Second)
		if way.refused.Load() == 0 {
			t.Error("no write was refused")
		}
		service := &corev1.Service{}
		p.must(p.c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, service))
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "other", Port: 81})
		p.must(p.c.Update(ctx, service)) // so that all is looked at
		<-time.After(time.Second)
		s := p.slices["b"].DeepCopy()
		s.ObjectMeta = metav1.ObjectMeta{Namespace: s.Namespace, Name: "c", Labels: s.Labels}
		s.Endpoints = []discoveryv1.Endpoint{endpoint(3)}
		p.slices["c"] = s
		p.must(p.c.Create(ctx, p.at(s, 10500*time.Millisecond)))
		<-time.After(time.Second)
		for name, v := range views {
			var of []string
			for _, w := range v.writes(p.began) {
				_, what, _ := strings.Cut(w, " ")
				of = append(of, what)
			}
			if want := []string{"a of 0", "c of 10500"}; !slices.Equal(of, want) {
				t.Errorf("%s: written: %s; want %s", name, strings.Join(of, ", "), strings.Join(want, ", "))
			}
		}
	})
}

// refusing is a broker that may refuse all changes of EndpointSlices.
type refusing struct {
	simulation.Broker
	refuse  atomic.Bool
	refused atomic.Int32
}

func (b *refusing) Invite(ctx context.Context, id names.ClusterID) (*rest.Config, error) {
	config, err := b.Broker.Invite(ctx, id)
	if err == nil {
		config.Wrap(func(next http.RoundTripper) http.RoundTripper { return refusedWrites{b, next} })
	}
	return config, err
}

type refusedWrites struct {
	by   *refusing
	next http.RoundTripper
}

func (r refusedWrites) RoundTrip(request *http.Request) (*http.Response, error) {
	if !r.by.refuse.Load() || request.Method != http.MethodPut || !strings.Contains(request.URL.Path, "/endpointslices/") {
		return r.next.RoundTrip(request)
	}
	r.by.refused.Add(1)
	return refusal(request, apierrors.NewForbidden(schema.GroupResource{Resource: "endpointslices"}, "", errors.New("not now")))
}

// paced is a Service whose endpoints change.
type paced struct {
	t      *testing.T
	ctx    context.Context
	c      client.Client
	slices map[string]*discoveryv1.EndpointSlice
	began  time.Time
}

// pair has two members join a broker, of which the first makes changes, until stop is called.
func pair(ctx context.Context, t *testing.T, b simulation.Broker) (p *paced, members []*simulation.Member, stop func()) {
	members, err := simulation.JoinAll(ctx, b, 1, 2, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &paced{t: t, ctx: ctx, c: members[0].Client, slices: map[string]*discoveryv1.EndpointSlice{}}, members, func() {
		if err := simulation.StopAll(members); err != nil {
			t.Error(err)
		}
	}
}

func (p *paced) must(err error) {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
}

// export makes the Service with two slices, exports it, and has others import it. It returns when nothing waits any more.
func (p *paced) export(others ...client.Client) {
	p.t.Helper()
	for _, c := range append(others, p.c) {
		p.must(c.Create(p.ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	}
	web := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	p.must(p.c.Create(p.ctx, &corev1.Service{ObjectMeta: web, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}))
	for i, name := range []string{"a", "b"} {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
			Endpoints:   []discoveryv1.Endpoint{endpoint(100 + i)},
		}
		p.must(p.c.Create(p.ctx, s))
		p.slices[name] = s
	}
	p.must(p.c.Create(p.ctx, &mcsv1beta1.ServiceExport{ObjectMeta: web}))
	<-time.After(5 * time.Second) // of the bubble
}

func endpoint(number int) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.200.0.%d", number)}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}
}

func add(number int) func(*discoveryv1.EndpointSlice) {
	return func(s *discoveryv1.EndpointSlice) { s.Endpoints = append(s.Endpoints, endpoint(number)) }
}

// unready has an endpoint be taken out of use by the clients, and remove makes it go.
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

// change updates a slice as Kubernetes' controller does, with the time of the change.
func (p *paced) change(name string, now time.Duration, f func(*discoveryv1.EndpointSlice)) {
	p.t.Helper()
	s := p.slices[name]
	f(s)
	p.must(p.c.Update(p.ctx, p.at(s, now)))
}

// at has a slice say when it changed.
func (p *paced) at(s *discoveryv1.EndpointSlice, at time.Duration) *discoveryv1.EndpointSlice {
	s.Annotations = map[string]string{names.AnnotationLastChangeTriggerTime: p.began.Add(at).UTC().Format(time.RFC3339Nano)}
	return s
}

// recorder notes when slices are written that Atoll keeps.
type recorder struct {
	watch watch.Interface
	seen  chan []written
}

type written struct {
	at    time.Time
	slice *discoveryv1.EndpointSlice
}

func (p *paced) record(c client.Client) *recorder {
	p.t.Helper()
	opts := []client.ListOption{client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}}
	list := &discoveryv1.EndpointSliceList{}
	p.must(c.List(p.ctx, list, opts...))
	if len(list.Items) != 2 {
		p.t.Fatalf("%d slices are imported, want 2", len(list.Items))
	}
	w, err := c.(client.WithWatch).Watch(p.ctx, &discoveryv1.EndpointSliceList{}, append(opts, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})...)
	p.must(err)
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

// writes ends the record and tells what there is in it: when which slice was written, and of when the
// change is that it tells, in ms.
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
