package bed

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestMetrics(t *testing.T) {
	m := ParseMetrics(`# HELP a_total Of a.
# TYPE a_total counter
a_total{resource="endpointslices",verb="PUT"} 3
a_total{resource="endpointslices",verb="POST",path="a \"quoted\", {b}"} 4
a_total{resource="leases",verb="PUT"} 1e+02
b_bytes 1.5e+06
nonsense
`)
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"a_total", nil, 107},
		{"a_total", []string{"resource", "endpointslices"}, 7},
		{"a_total", []string{"resource", "endpointslices", "verb", "PUT"}, 3},
		{"a_total", []string{"path", `a "quoted", {b}`}, 4},
		{"b_bytes", nil, 1.5e6},
		{"c", nil, 0},
	} {
		if got := m.Sum(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s %v: got %g, want %g", tt.name, tt.labels, got, tt.want)
		}
	}
}

func TestObserverSeesWhatChanges(t *testing.T) {
	o := newObserver()
	at := time.Unix(0, 0)
	slice := func(kind watch.EventType, name string, addresses ...string) {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{names.LabelServiceName: "web"}}}
		for _, a := range addresses {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		at = at.Add(time.Second)
		o.onSlice(watch.Event{Type: kind, Object: s}, at)
	}
	want := func(m Mark, second int64) {
		t.Helper()
		if got, ok := o.marks[m]; (second != 0) != ok || ok && got.Unix() != second {
			t.Errorf("%s: got %v, want second %d", m, got, second)
		}
	}
	slice(watch.Added, "a", "1", "2")
	slice(watch.Added, "b", "3")
	slice(watch.Modified, "a", "1", "4")
	slice(watch.Modified, "a", "1", "4") // the first time counts
	want(Endpoints("web", 2), 1)
	want(Endpoints("web", 3), 2)
	want(Appeared("4"), 3)
	want(Vanished("2"), 3)
	want(Vanished("1"), 0)
	slice(watch.Deleted, "a")
	want(Vanished("1"), 5)
	want(Endpoints("web", 1), 5)
	imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Name: "web"}}
	o.onImport(watch.Event{Type: watch.Added, Object: imp}, time.Unix(7, 0))
	want(Exists("web"), 7)
	want(Usable("web"), 0)
	imp.Spec.IPs = []string{"10.0.0.1"}
	o.onImport(watch.Event{Type: watch.Modified, Object: imp}, time.Unix(8, 0))
	want(Usable("web"), 8)
	o.Forget()
	for _, there := range []Mark{Exists("web"), Usable("web"), Endpoints("web", 1)} {
		if _, ok := o.marks[there]; !ok {
			t.Errorf("%s is forgotten, though it is so", there)
		}
	}
	want(Endpoints("web", 3), 0)
	want(Vanished("1"), 0)
	o.onImport(watch.Event{Type: watch.Deleted, Object: imp}, time.Unix(9, 0))
	want(Gone("web"), 9)
}
