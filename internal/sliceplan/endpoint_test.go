package sliceplan

import (
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
)

// zeroed calls f with copies of a value, each with another of its fields, at any depth,
// set to zero.
func zeroed[T any](t *testing.T, value T, f func(field string, other T)) {
	t.Helper()
	var visit func(path []int, name string, of reflect.Value)
	visit = func(path []int, name string, of reflect.Value) {
		for i := range of.NumField() {
			field, fieldName, at := of.Field(i), name+"."+of.Type().Field(i).Name, append(path[:len(path):len(path)], i)
			if field.IsZero() {
				t.Errorf("%s is not set, so that it can't be seen whether it is compared", fieldName)
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

func TestEveryFieldOfAnEndpointIsCompared(t *testing.T) {
	value := full("10.0.0.1")
	value.Hints.ForNodes = []discoveryv1.ForNode{{Name: "n1"}}
	if !sameEndpoints([]discoveryv1.Endpoint{value}, []discoveryv1.Endpoint{*value.DeepCopy()}) {
		t.Fatal("an endpoint differs from itself")
	}
	compared := func(field string, other discoveryv1.Endpoint) {
		if sameEndpoints([]discoveryv1.Endpoint{value}, []discoveryv1.Endpoint{other}) {
			t.Errorf("%s is not compared", field)
		}
	}
	zeroed(t, value, compared)
	zeroed(t, *value.Hints, func(field string, other discoveryv1.EndpointHints) {
		changed := value
		changed.Hints = &other
		compared("Hints"+field, changed)
	})
	if sameEndpoints([]discoveryv1.Endpoint{value}, nil) {
		t.Error("the number is not compared")
	}
}

func TestEveryFieldOfAPortIsCompared(t *testing.T) {
	value := discoveryv1.EndpointPort{
		Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(80)), AppProtocol: ptr.To("http"),
	}
	if !samePorts([]discoveryv1.EndpointPort{value}, []discoveryv1.EndpointPort{*value.DeepCopy()}) {
		t.Fatal("a port differs from itself")
	}
	zeroed(t, value, func(field string, other discoveryv1.EndpointPort) {
		if samePorts([]discoveryv1.EndpointPort{value}, []discoveryv1.EndpointPort{other}) {
			t.Errorf("%s is not compared", field)
		}
	})
}

func TestEndpointsAreFoundOnceEach(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		endpoints := drawEndpoints(t, "endpoints")
		x := indexEndpoints(endpoints)
		taken := map[int]bool{}
		for i := range endpoints {
			at, found := x.take(&endpoints[i])
			if !found || taken[at] || !sameEndpoint(&endpoints[at], &endpoints[i]) || identify(&endpoints[at]) != identify(&endpoints[i]) {
				t.Fatalf("%v: found %v at %d", identify(&endpoints[i]), found, at)
			}
			taken[at] = true
		}
		if at, found := x.take(&discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}}); found {
			t.Fatalf("found one more at %d", at)
		}
	})
}
