package endpoints

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// zeroed calls f with copies of a value. In each copy one field, at any depth, is zero.
func zeroed[T any](t *testing.T, value T, f func(field string, other T)) {
	t.Helper()
	var visit func(path []int, name string, of reflect.Value)
	visit = func(path []int, name string, of reflect.Value) {
		for i := range of.NumField() {
			field, fieldName, at := of.Field(i), name+"."+of.Type().Field(i).Name, append(path[:len(path):len(path)], i)
			if field.IsZero() {
				t.Errorf("%s is not set, so the test cannot check whether the field is compared", fieldName)
				continue
			}
			if field.Kind() == reflect.Struct {
				visit(at, fieldName, field)
				continue
			}
			other := value
			reflect.ValueOf(&other).Elem().FieldByIndex(at).SetZero()
			f(fieldName, other)
		}
	}
	visit(nil, "", reflect.ValueOf(value))
}

func TestEveryFieldIsCompared(t *testing.T) {
	value := full("10.0.0.1")
	value.Hints.ForNodes = []discoveryv1.ForNode{{Name: "n1"}}
	port := discoveryv1.EndpointPort{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(80)), AppProtocol: ptr.To("http")}
	with := func(p discoveryv1.EndpointPort, e ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		s := source("web-a", e...)
		s.Ports = []discoveryv1.EndpointPort{p}
		return s
	}
	have := with(port, value)
	if !Same(have, have.DeepCopy()) {
		t.Fatal("a slice differs from itself")
	}
	compared := func(what string, other *discoveryv1.EndpointSlice) {
		if Same(have, other) {
			t.Errorf("%s is not compared", what)
		}
	}
	zeroed(t, value, func(field string, other discoveryv1.Endpoint) { compared("Endpoint"+field, with(port, other)) })
	zeroed(t, *value.Hints, func(field string, other discoveryv1.EndpointHints) {
		changed := value
		changed.Hints = &other
		compared("Hints"+field, with(port, changed))
	})
	zeroed(t, port, func(field string, other discoveryv1.EndpointPort) { compared("Port"+field, with(other, value)) })
	compared("the number of endpoints", with(port))
}

// Cached objects are shared, and a client writes into the object that it receives. Labels of
// other writers stay.
func TestUpdated(t *testing.T) {
	want, have := source("web-a", full("10.0.0.1")), source("web-a", full("10.0.0.2"))
	have.Labels["somebody"], have.ResourceVersion = "else", "7"
	haveBefore, wantBefore := have.DeepCopy(), want.DeepCopy()
	for _, from := range []*discoveryv1.EndpointSlice{nil, have} {
		got := Updated(from, want)
		if !Same(got, want) || from != nil && (got.Labels["somebody"] != "else" || got.ResourceVersion != "7") {
			t.Errorf("updated to %+v", got)
		}
		got.Labels["x"], got.Annotations["x"] = "y", "y"
		*got.Ports[0].Port = 1
		*got.Endpoints[0].Zone, got.Endpoints[0].Addresses[0] = "x", "x"
	}
	if diff := cmp.Diff([]any{haveBefore, wantBefore}, []any{have, want}); diff != "" {
		t.Errorf("the arguments were changed (-before +after):\n%s", diff)
	}
	six := want.DeepCopy()
	six.AddressType = discoveryv1.AddressTypeIPv6
	if Same(want, six) || Updated(want, six).ResourceVersion != "" {
		t.Error("the type of the addresses can be updated")
	}
}

// kube-proxy measures from the trigger time. A write for hints, ports or labels must not claim
// a change of endpoints, and a new trigger time alone is no reason to write.
func TestTriggerTime(t *testing.T) {
	const later = "2026-01-02T03:04:06Z"
	for name, tt := range map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		same   bool
		want   string
	}{
		"nothing":     {func(*discoveryv1.EndpointSlice) {}, true, ""},
		"an endpoint": {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = ptr.To(true) }, false, later},
		"a hint":      {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Hints.ForZones[0].Name = "z2" }, false, ""},
		"a port":      {func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = ptr.To("other") }, false, ""},
		"a label":     {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "other" }, false, ""},
	} {
		have := source("web-a", full("10.0.0.1"))
		want := have.DeepCopy()
		want.Annotations[names.AnnotationLastChangeTriggerTime] = later
		tt.change(want)
		if got := Updated(have, want).Annotations[names.AnnotationLastChangeTriggerTime]; Same(have, want) != tt.same || got != tt.want {
			t.Errorf("%s: the same is %t, the time %q, want %q", name, Same(have, want), got, tt.want)
		}
	}
	s := source("web-a")
	delete(s.Annotations, names.AnnotationLastChangeTriggerTime)
	if at, made := published(s).Annotations[names.AnnotationLastChangeTriggerTime]; made {
		t.Errorf("the time %q is made up", at)
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

func TestWithdraws(t *testing.T) {
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
	newer := in("web-a", endpoints{at("1", "rs"), at("2", "rs")})
	newer.Annotations = map[string]string{names.AnnotationRevision: "9"}
	for _, tt := range []struct {
		name           string
		have, want     *discoveryv1.EndpointSlice
		added, removed int
		withdraws      bool
	}{
		{"nothing", nil, nil, 0, 0, false},
		{"a first slice", nil, in("web-a", endpoints{at("1", "rs"), at("2", "")}), 2, 0, false},
		{"one comes", in("web-a", endpoints{at("1", "rs")}), in("web-a", endpoints{at("2", "rs"), at("1", "rs")}), 1, 0, false},
		{"one gets ready", in("web-a", endpoints{at("1", "")}), in("web-a", endpoints{at("1", "rs")}), 0, 0, false},
		{"one goes", in("web-a", endpoints{at("1", "rs"), at("2", "rs")}), in("web-a", endpoints{at("2", "rs")}), 0, 1, true},
		{"one goes that serves still", in("web-a", endpoints{at("1", "st")}), in("web-a", nil), 0, 1, true},
		{"one goes that serves still, where another is ready", in("web-a", endpoints{at("1", "st"), at("2", "rs")}), in("web-a", endpoints{at("2", "rs")}), 0, 1, false},
		{"one goes that serves still its node, where another is ready", in("web-a", endpoints{onNode, at("2", "rs")}), in("web-a", endpoints{at("2", "rs")}), 0, 1, true},
		{"one goes that nobody used", in("web-a", endpoints{at("1", "t")}), in("web-a", nil), 0, 1, false},
		{"one is not ready any more", in("web-a", endpoints{at("1", "rs")}), in("web-a", endpoints{at("1", "s")}), 0, 0, true},
		{"one terminates", in("web-a", endpoints{at("1", "rs")}), in("web-a", endpoints{at("1", "rst")}), 0, 0, true},
		{"one does not serve any more", in("web-a", endpoints{at("1", "st")}), in("web-a", endpoints{at("1", "t")}), 0, 0, true},
		{"one is replaced", in("web-a", endpoints{at("1", "rs")}), in("web-a", endpoints{at("2", "rs")}), 1, 1, true},
		{"one comes, with a new revision", in("web-a", endpoints{at("1", "rs")}), newer, 1, 0, false},
		{"another zone", in("web-a", endpoints{at("1", "rs")}), in("web-a", endpoints{named}), 0, 0, false},
		{"other hints", in("web-a", endpoints{at("1", "rs")}), in("web-a", endpoints{hinted}), 0, 0, false},
		{"another port", in("web-a", endpoints{at("1", "rs")}), renamed, 0, 0, true},
		{"another service", in("web-a", endpoints{at("1", "rs")}), relabelled, 0, 0, true},
		{"a slice goes", in("web-a", endpoints{at("1", "rs")}), nil, 0, 1, true},
		{"an empty slice goes", in("web-a", nil), nil, 0, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			added, removed := Changed(tt.have, tt.want)
			if withdraws := Withdraws(tt.have, tt.want); added != tt.added || removed != tt.removed || withdraws != tt.withdraws {
				t.Errorf("added %d, removed %d, withdraws %v; want %d, %d, %v", added, removed, withdraws, tt.added, tt.removed, tt.withdraws)
			}
			if same := Same(tt.have, tt.want); same != (tt.name == "nothing") {
				t.Errorf("the same is %t", same)
			}
		})
	}
}
