package kit

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func endpoint(address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses:  []string{address},
		Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(false)},
		Hostname:   ptr.To("web-0"), Zone: ptr.To("z1"), NodeName: ptr.To("n1"),
	}
}

func TestTrim(t *testing.T) {
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}, ManagedFields: []metav1.ManagedFieldsEntry{{}}},
		Endpoints:  append(make([]discoveryv1.Endpoint, 0, 8), endpoint("10.0.0.1"), endpoint("10.0.0.2")),
	}
	want := slice.DeepCopy()
	want.ManagedFields = nil
	trimmed, err := Trim(slice)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, trimmed); diff != "" {
		t.Errorf("trimmed (-want +got):\n%s", diff)
	}
	a, b := &slice.Endpoints[0], &slice.Endpoints[1]
	if a.Zone != b.Zone || a.NodeName != b.NodeName || a.Conditions.Ready != b.Conditions.Ready || a.Conditions.Serving != b.Conditions.Serving {
		t.Error("the endpoints do not share equal strings")
	}
	if room := cap(slice.Endpoints) - len(slice.Endpoints); room > 0 {
		t.Errorf("the slice has capacity for %d more endpoints", room)
	}
	if a.Conditions.Terminating != nil {
		t.Error("an unset condition became set")
	}
}

// A member cannot fill the memory with ever new zone names.
func TestInternerForgets(t *testing.T) {
	n := interner{limit: 3, known: map[string]*string{}}
	for i := range 10 {
		s := fmt.Sprint(i % 5)
		if got := n.share(&s); *got != s {
			t.Fatalf("%q became %q", s, *got)
		}
		if len(n.known) > 3 {
			t.Fatalf("%d strings are kept", len(n.known))
		}
	}
	if n.share(nil) != nil {
		t.Error("share(nil) is not nil")
	}
}
