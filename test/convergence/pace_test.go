package convergence

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// TestChangesAreWrittenAtTheirTime has one cluster change the endpoints of a Service, and looks when that is on the broker, in the own import and
// in the other cluster's: five changes of a slice at once, and what follows them together when there is a token again, each 50 ms. Slices do not
// wait for each other, and each bears the time of the change that its source bears.
func TestChangesAreWrittenAtTheirTime(t *testing.T) {
	inBubble(t, func(ctx context.Context) {
		p, onBroker, members, stop := pair(ctx, t)
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
			{1 * time.Millisecond, "a", add(2)},
			{2 * time.Millisecond, "a", add(3)},
			{3 * time.Millisecond, "a", add(4)},
			{4 * time.Millisecond, "a", add(5)},
			{5 * time.Millisecond, "a", add(6)},
			{10 * time.Millisecond, "b", add(7)}, // which has nothing to do with a
			{20 * time.Millisecond, "a", unready(1)},
			{60 * time.Millisecond, "a", remove(1)},
			// After a second of calm.
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

// A record that changes all the time has the import written no faster than a member may change a namespace, and at last it is what the record says.
func TestRecordThatChangesAllTheTime(t *testing.T) {
	const changes, atOnce, perSecond = 5000, 1000, 100
	inBubble(t, func(ctx context.Context) {
		p, onBroker, members, stop := pair(ctx, t)
		defer stop()
		p.export(members[1].Client)
		w, err := members[1].Client.Watch(ctx, &mcsv1beta1.ServiceImportList{}, client.InNamespace("shop"))
		p.must(err)
		written := make(chan int, 1)
		go func() {
			n := 0
			for range w.ResultChan() {
				n++
			}
			written <- n
		}()
		record := made.Record("other", "shop", "web", mcsv1beta1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP})
		p.must(onBroker.Create(ctx, record))
		began := time.Now()
		for range changes {
			<-time.After(time.Millisecond)
			layout.SetRevision(record, layout.Revision(record))
			p.must(onBroker.Update(ctx, record))
		}
		took := time.Since(began)
		<-time.After(time.Minute)
		w.Stop()
		if n := <-written; n < atOnce || n > atOnce+int(took.Seconds()*perSecond)+20 {
			t.Errorf("the import was written %d times in %v", n, took)
		}
		imp := made.Import("shop", "web")
		p.must(members[1].Client.Get(ctx, client.ObjectKeyFromObject(imp), imp))
		if applied, last := imp.Annotations[names.AnnotationApplied], fmt.Sprintf("other=%d", layout.Revision(record)); !strings.Contains(applied, last) {
			t.Errorf("the import is made of %s, and not of %s", applied, last)
		}
	})
}

// What a namespace needs that appears is read at once, however much that is: only a member that is over its budget has to wait.
func TestNamespaceThatAppearsIsFilledAtOnce(t *testing.T) {
	const many = 600
	inBubble(t, func(ctx context.Context) {
		p, _, members, stop := pair(ctx, t)
		defer stop()
		p.export()
		for i := range many {
			s := p.slices["a"].DeepCopy()
			s.Name, s.ResourceVersion = fmt.Sprint("more-", i), ""
			p.must(p.c.Create(ctx, s))
		}
		<-time.After(time.Minute)
		p.must(members[1].Client.Create(ctx, made.Namespace("shop")))
		<-time.After(3 * time.Second)
		list := &discoveryv1.EndpointSliceList{}
		p.must(members[1].Client.List(ctx, list, client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}))
		if len(list.Items) != many+2 {
			t.Errorf("%d of %d slices are imported", len(list.Items), many+2)
		}
	})
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
func pair(ctx context.Context, t *testing.T) (p *paced, onBroker client.Client, members []*simulation.Member, stop func()) {
	b, onBroker, err := simulation.MemoryBroker()
	if err != nil {
		t.Fatal(err)
	}
	members, err = simulation.JoinAll(ctx, b, 1, 2, simulation.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return &paced{t: t, ctx: ctx, c: members[0].Client, slices: map[string]*discoveryv1.EndpointSlice{}}, onBroker, members, func() {
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
