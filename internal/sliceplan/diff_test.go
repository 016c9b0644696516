package sliceplan

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/names"
)

func TestDiffReplacesWhatTheAPIDoesNotLetChange(t *testing.T) {
	have := source("web-a", full("10.0.0.1"))
	want := have.DeepCopy()
	want.AddressType = discoveryv1.AddressTypeIPv6
	changes := Diff([]*discoveryv1.EndpointSlice{have}, []discoveryv1.EndpointSlice{*want})
	if len(changes.Replace) != 1 || len(changes.Create) != 1 || len(changes.Update)+len(changes.Delete) != 0 {
		t.Errorf("changes %+v", changes)
	}
}

// The time of a change goes with a change, and is none by itself.
func TestDiffOfTheTriggerTime(t *testing.T) {
	have := source("web-a", full("10.0.0.1"))
	for name, at := range map[string]string{"gone": "", "later": "2026-01-02T03:04:06Z"} {
		t.Run(name, func(t *testing.T) {
			want := have.DeepCopy()
			delete(want.Annotations, names.AnnotationLastChangeTriggerTime)
			if at != "" {
				want.Annotations[names.AnnotationLastChangeTriggerTime] = at
			}
			if changes := Diff([]*discoveryv1.EndpointSlice{have}, []discoveryv1.EndpointSlice{*want}); !changes.Empty() {
				t.Errorf("changes %+v", changes)
			}
			want.Endpoints[0].Zone = ptr.To("z2")
			changes := Diff([]*discoveryv1.EndpointSlice{have}, []discoveryv1.EndpointSlice{*want})
			if len(changes.Update) != 1 || changes.Update[0].Annotations[names.AnnotationLastChangeTriggerTime] != at {
				t.Errorf("changes %+v", changes)
			}
		})
	}
}

func TestDiffKeepsWhatOthersAdded(t *testing.T) {
	want := source("web-a", full("10.0.0.1"))
	have := want.DeepCopy()
	have.Labels["somebody"] = "else"
	have.ResourceVersion = "7"
	if changes := Diff([]*discoveryv1.EndpointSlice{have}, []discoveryv1.EndpointSlice{*want}); !changes.Empty() {
		t.Errorf("a label of somebody else's led to %+v", changes)
	}
	have.Endpoints = nil
	changes := Diff([]*discoveryv1.EndpointSlice{have}, []discoveryv1.EndpointSlice{*want})
	if len(changes.Update) != 1 || changes.Update[0].Labels["somebody"] != "else" || changes.Update[0].ResourceVersion != "7" {
		t.Errorf("changes %+v", changes)
	}
}

// Objects from a cache are shared. The writer's client writes into what it is given.
func TestWhatIsWrittenSharesNothing(t *testing.T) {
	p := publication(source("web-a", full("10.0.0.1")), source("web-b", full("10.0.0.2")))
	before := []*discoveryv1.EndpointSlice{p.Sources[0].DeepCopy(), p.Sources[1].DeepCopy()}
	have := pointers(publish(publication(source("web-a", full("10.0.0.3")))))
	haveBefore := have[0].DeepCopy()
	changes := Diff(have, publish(p))
	if len(changes.Create) != 1 || len(changes.Update) != 1 {
		t.Fatalf("changes %+v", changes)
	}
	for _, s := range append(changes.Create, changes.Update...) {
		s.Labels["x"], s.Annotations["x"] = "y", "y"
		*s.Ports[0].Port = 1
		*s.Endpoints[0].Zone, s.Endpoints[0].Addresses[0] = "x", "x"
	}
	if diff := cmp.Diff(before, p.Sources); diff != "" {
		t.Errorf("the sources changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(haveBefore, have[0]); diff != "" {
		t.Errorf("what there is changed (-before +after):\n%s", diff)
	}
}

// at is an endpoint with conditions as letters: r(eady), s(erving), t(erminating).
func at(address, state string) discoveryv1.Endpoint {
	has := func(letter rune) *bool {
		for _, r := range state {
			if r == letter {
				return ptr.To(true)
			}
		}
		return ptr.To(false)
	}
	return discoveryv1.Endpoint{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{
		Ready: has('r'), Serving: has('s'), Terminating: has('t'),
	}}
}

func TestWhatChangesAmountTo(t *testing.T) {
	type endpoints = []discoveryv1.Endpoint
	in := func(name string, of endpoints) *discoveryv1.EndpointSlice { return source(name, of...) }
	renamed := in("web-a", endpoints{at("1", "rs")})
	renamed.Ports[0].Name = ptr.To("other")
	relabelled := in("web-a", endpoints{at("1", "rs")})
	relabelled.Labels[discoveryv1.LabelServiceName] = "other"
	hinted := at("1", "rs")
	hinted.Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z"}}}
	named := at("1", "rs")
	named.Zone = ptr.To("z")
	onNode := at("1", "st")
	onNode.NodeName = ptr.To("n1")
	for _, tt := range []struct {
		name           string
		have, want     []*discoveryv1.EndpointSlice
		added, removed int
		withdraws      bool
	}{
		{"nothing", nil, nil, 0, 0, false},
		{"a first slice", nil, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs"), at("2", "")})}, 2, 0, false},
		{"one comes", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("2", "rs"), at("1", "rs")})}, 1, 0, false},
		{"one gets ready", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, 0, 0, false},
		{"one goes", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs"), at("2", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("2", "rs")})}, 0, 1, true},
		{"one goes that serves still", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "st")})}, []*discoveryv1.EndpointSlice{in("web-a", nil)}, 0, 1, true},
		{"one goes that serves still, where another is ready", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "st"), at("2", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("2", "rs")})}, 0, 1, false},
		{"one goes that serves still its node, where another is ready", []*discoveryv1.EndpointSlice{in("web-a", endpoints{onNode, at("2", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("2", "rs")})}, 0, 1, true},
		{"one goes with its slice that serves still", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "st")}), in("web-b", endpoints{at("2", "rs")})}, []*discoveryv1.EndpointSlice{in("web-b", endpoints{at("2", "rs")})}, 0, 1, true},
		{"one goes that nobody used", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "t")})}, []*discoveryv1.EndpointSlice{in("web-a", nil)}, 0, 1, false},
		{"one is not ready any more", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "s")})}, 0, 0, true},
		{"one terminates", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rst")})}, 0, 0, true},
		{"one does not serve any more", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "st")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "t")})}, 0, 0, true},
		{"one is replaced", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("2", "rs")})}, 1, 1, true},
		{"another zone", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{named})}, 0, 0, true},
		{"other hints", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{in("web-a", endpoints{hinted})}, 0, 0, true},
		{"another port", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{renamed}, 0, 0, true},
		{"another service", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, []*discoveryv1.EndpointSlice{relabelled}, 0, 0, true},
		{"a slice goes", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")})}, nil, 0, 1, true},
		{"an empty slice goes", []*discoveryv1.EndpointSlice{in("web-a", nil)}, nil, 0, 0, false},
		{
			"one moves", []*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs")}), in("web-b", endpoints{at("2", "rs")})},
			[]*discoveryv1.EndpointSlice{in("web-a", endpoints{at("1", "rs"), at("2", "rs")})}, 0, 0, false,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var want []discoveryv1.EndpointSlice
			for _, s := range tt.want {
				want = append(want, *s)
			}
			changes := Diff(tt.have, want)
			if changes.Added != tt.added || changes.Removed != tt.removed || changes.Withdraws != tt.withdraws {
				t.Errorf("added %d, removed %d, withdraws %v; want %d, %d, %v",
					changes.Added, changes.Removed, changes.Withdraws, tt.added, tt.removed, tt.withdraws)
			}
			if changes.Empty() != (tt.name == "nothing") {
				t.Errorf("changes %+v", changes)
			}
		})
	}
}
