package sliceplan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// aged is a source that was made so many seconds after the first.
func aged(name string, age int64, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	s := source(name, endpoints...)
	s.CreationTimestamp = metav1.Unix(1000+age, 0)
	s.Labels[discoveryv1.LabelManagedBy] = "somebody"
	return s
}

func endpoint(address string, change ...func(*discoveryv1.Endpoint)) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{address}}
	for _, c := range change {
		c(&e)
	}
	return e
}

func notReady(e *discoveryv1.Endpoint) { e.Conditions.Ready = ptr.To(false) }
func terminating(e *discoveryv1.Endpoint) {
	e.Conditions.Ready, e.Conditions.Terminating = ptr.To(false), ptr.To(true)
}
func ofPod(e *discoveryv1.Endpoint) { e.NodeName = ptr.To("n1") }
func ofPet(e *discoveryv1.Endpoint) { e.Hostname = ptr.To("pet-0") }

func ports(numbers ...int32) []discoveryv1.EndpointPort {
	all := []discoveryv1.EndpointPort{}
	for _, n := range numbers {
		all = append(all, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprint(n)), Protocol: ptr.To(corev1.ProtocolTCP), Port: &n})
	}
	return all
}

// held tells which slices hold which addresses.
func held(sources []*discoveryv1.EndpointSlice) string {
	var all []string
	for _, s := range sources {
		for _, e := range s.Endpoints {
			all = append(all, s.Name+" "+strings.Join(e.Addresses, "+"))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func TestDistinct(t *testing.T) {
	with := func(s *discoveryv1.EndpointSlice, numbers ...int32) *discoveryv1.EndpointSlice {
		s.Ports = ports(numbers...)
		return s
	}
	v6 := func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
		s.AddressType = discoveryv1.AddressTypeIPv6
		return s
	}
	for _, tt := range []struct {
		name    string
		sources []*discoveryv1.EndpointSlice
		want    string
	}{
		{"nothing twice", []*discoveryv1.EndpointSlice{aged("a", 0, endpoint("1")), aged("b", 0, endpoint("2"))}, "a 1, b 2"},
		{"the older slice has it", []*discoveryv1.EndpointSlice{aged("a", 2, endpoint("1"), endpoint("2")), aged("b", 1, endpoint("1"))}, "a 2, b 1"},
		{"of the same age, the first by name", []*discoveryv1.EndpointSlice{aged("b", 0, endpoint("1")), aged("a", 0, endpoint("1"))}, "a 1"},
		{"the ready copy", []*discoveryv1.EndpointSlice{aged("a", 1, endpoint("1", notReady)), aged("b", 2, endpoint("1"))}, "b 1"},
		{"an address that a new pod has", []*discoveryv1.EndpointSlice{aged("a", 1, endpoint("1", terminating)), aged("b", 2, endpoint("1", notReady))}, "b 1"},
		{"the one that knows its node, not the mirrored one", []*discoveryv1.EndpointSlice{aged("mirrored", 1, endpoint("1")), aged("b", 2, endpoint("1", ofPod))}, "b 1"},
		{"the one with a name of its own", []*discoveryv1.EndpointSlice{aged("a", 1, endpoint("1", ofPod)), aged("b", 2, endpoint("1", ofPet))}, "b 1"},
		{"other ports are another endpoint", []*discoveryv1.EndpointSlice{with(aged("a", 1, endpoint("1")), 80), with(aged("b", 2, endpoint("1")), 81)}, "a 1, b 1"},
		{"more ports are all of it", []*discoveryv1.EndpointSlice{with(aged("a", 1, endpoint("1")), 80), with(aged("b", 2, endpoint("1")), 80, 81)}, "b 1"},
		{"ports that overlap", []*discoveryv1.EndpointSlice{with(aged("a", 1, endpoint("1")), 80, 81), with(aged("b", 2, endpoint("1")), 81, 82)}, "a 1, b 1"},
		{"no ports", []*discoveryv1.EndpointSlice{with(aged("a", 2, endpoint("1"))), with(aged("b", 1, endpoint("1")))}, "b 1"},
		{"no ports and some", []*discoveryv1.EndpointSlice{with(aged("a", 1, endpoint("1"))), with(aged("b", 2, endpoint("1")), 80)}, "b 1"},
		{"one with further addresses", []*discoveryv1.EndpointSlice{
			aged("a", 1, endpoint("1")), aged("b", 2, discoveryv1.Endpoint{Addresses: []string{"1", "2"}}),
		}, "a 1, b 1+2"},
		{"within one slice", []*discoveryv1.EndpointSlice{aged("a", 1, endpoint("1"), endpoint("1", notReady))}, "a 1"},
		{"one address in two spellings", []*discoveryv1.EndpointSlice{v6(aged("a", 1, endpoint("fd00::1"))), v6(aged("b", 2, endpoint("fd00:0:0::1")))}, "a fd00::1"},
		{"three of them", []*discoveryv1.EndpointSlice{aged("a", 3, endpoint("1")), aged("b", 2, endpoint("1")), aged("c", 1, endpoint("1"), endpoint("2"))}, "c 1, c 2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := held(distinct(tt.sources)); got != tt.want {
				t.Errorf("left %s, want %s", got, tt.want)
			}
		})
	}
}

// drawOverlapping draws slices of few addresses, ports and ages, so that they overlap in
// every way.
func drawOverlapping(t *rapid.T) []*discoveryv1.EndpointSlice {
	var sources []*discoveryv1.EndpointSlice
	for i := range rapid.IntRange(0, 4).Draw(t, "slices") {
		s := aged(fmt.Sprintf("web-%d", i), rapid.Int64Range(0, 2).Draw(t, "age"))
		s.Ports = ports(rapid.SliceOfNDistinct(rapid.Int32Range(80, 82), 0, 3, rapid.ID).Draw(t, "ports")...)
		for range rapid.IntRange(0, 6).Draw(t, "endpoints") {
			e := discoveryv1.Endpoint{Addresses: rapid.SliceOfNDistinct(
				rapid.SampledFrom([]string{"1", "2", "3", "4"}), 1, 2, rapid.ID).Draw(t, "addresses")}
			for _, change := range []func(*discoveryv1.Endpoint){notReady, terminating, ofPod, ofPet} {
				if rapid.IntRange(0, 3).Draw(t, "changed") == 0 {
					change(&e)
				}
			}
			s.Endpoints = append(s.Endpoints, e)
		}
		sources = append(sources, s)
	}
	return sources
}

// reached returns what slices reach, and whether it is ready in any.
func reached(sources []*discoveryv1.EndpointSlice) map[reach]bool {
	all := map[reach]bool{}
	for _, s := range sources {
		for _, e := range s.Endpoints {
			for _, a := range e.Addresses {
				for _, p := range portKeys(s.Ports) {
					all[reach{a, p}] = all[reach{a, p}] || isReady(&e)
				}
			}
		}
	}
	return all
}

func TestDistinctLosesNothingAndRepeatsNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := drawOverlapping(t)
		before := copies(sources)
		got := distinct(sources)
		if diff := cmp.Diff(before, sources); diff != "" {
			t.Fatalf("the sources changed:\n%s", diff)
		}
		if want, have := reached(sources), reached(got); !maps.Equal(want, have) {
			t.Fatalf("%s became %s: reached %v, want %v", held(sources), held(got), have, want)
		}
		// Of slices with the same ports, an address by itself is in one.
		seen := map[string]bool{}
		for _, s := range got {
			for _, e := range s.Endpoints {
				key := fmt.Sprint(e.Addresses, portKeys(s.Ports))
				if len(e.Addresses) == 1 && seen[key] {
					t.Fatalf("%s is there twice in %s", key, held(got))
				}
				seen[key] = true
			}
		}
		// What is left depends on what there is, and not on the order in which it is listed.
		shuffled := rapid.Permutation(sources).Draw(t, "shuffled")
		if again := held(distinct(shuffled)); again != held(got) {
			t.Fatalf("in another order %s is left instead of %s", again, held(got))
		}
		if again := held(distinct(got)); again != held(got) {
			t.Fatalf("the second time %s is left of %s", again, held(got))
		}
	})
}

// While slices overlap, an endpoint that comes, changes or goes in one place touches the slices
// that hold it and no others.
func TestOverlapStaysWhereItIs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sources := drawOverlapping(t)
		before := map[string]*discoveryv1.EndpointSlice{}
		for _, s := range distinct(sources) {
			before[s.Name] = s
		}
		changed := copies(sources)
		if len(changed) == 0 {
			return
		}
		which := changed[rapid.IntRange(0, len(changed)-1).Draw(t, "slice")]
		which.Endpoints = append(which.Endpoints, endpoint("9"))
		for _, s := range distinct(changed) {
			want := slices.Clone(before[s.Name].Endpoints)
			if s.Name == which.Name {
				want = append(want, endpoint("9"))
			}
			if diff := cmp.Diff(want, s.Endpoints); len(want)+len(s.Endpoints) > 0 && diff != "" {
				t.Fatalf("an endpoint that came to %s changed %s:\n%s", which.Name, s.Name, diff)
			}
		}
	})
}

func copies(sources []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for _, s := range sources {
		all = append(all, s.DeepCopy())
	}
	return all
}

// Both sides of the broker see an endpoint once.
func TestOverlappingSourcesArePublishedAndImportedOnce(t *testing.T) {
	sources := []*discoveryv1.EndpointSlice{
		aged("mirrored", 1, endpoint("10.0.0.1"), endpoint("10.0.0.2")), aged("built-in", 2, endpoint("10.0.0.1", ofPod), endpoint("10.0.0.3", ofPod)),
	}
	want := []string{"10.0.0.1", "10.0.0.2", "10.0.0.3"}
	endpoints := func(s discoveryv1.EndpointSlice) []discoveryv1.Endpoint { return s.Endpoints }
	if got := addresses(publish(publication(sources...)), endpoints); !slices.Equal(got, want) {
		t.Errorf("published %v", got)
	}
	own := Import(Importation{
		Import: serviceImport(http), DerivedService: "d", Cluster: "c1", Own: true, MaxEndpoints: 100,
		Ports: []mcsv1beta1.ServicePort{http}, Sources: sources,
	})
	if got := addresses(own, endpoints); !slices.Equal(got, want) {
		t.Errorf("imported %v", got)
	}
}

// BenchmarkDistinct compares the search for overlaps, which slices that people write are
// subject to, with planning what is published of a service of 20,000 endpoints.
func BenchmarkDistinct(b *testing.B) {
	var sources []*discoveryv1.EndpointSlice
	for i := range 200 {
		s := aged(fmt.Sprintf("web-%d", i), 0)
		for j := range DefaultMaxEndpoints {
			s.Endpoints = append(s.Endpoints, full(fmt.Sprintf("10.%d.0.%d", i, j)))
			s.Endpoints[j].Addresses = s.Endpoints[j].Addresses[:1]
		}
		sources = append(sources, s)
	}
	p := publication(sources...)
	var search, all time.Duration
	for b.Loop() {
		start := time.Now()
		distinct(sources)
		middle := time.Now()
		publish(p)
		search, all = search+middle.Sub(start), all+time.Since(middle)
	}
	b.ReportMetric(float64(search)/float64(all), "of-planning")
}

// The EndpointSlice controller's slices are taken as they are.
func TestBuiltInSlicesAreNotSearched(t *testing.T) {
	sources := []*discoveryv1.EndpointSlice{source("a", endpoint("1")), source("b", endpoint("1"))}
	if got := held(distinct(sources)); got != "a 1, b 1" {
		t.Errorf("left %s", got)
	}
	sources[1].Labels[discoveryv1.LabelManagedBy] = mirroringManager
	if got := held(distinct(sources)); got != "a 1" {
		t.Errorf("with a mirrored one, left %s", got)
	}
}
