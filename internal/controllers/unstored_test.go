package controllers

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// What an API server does not store is written once, and again when something else is wanted or the
// slice is another one.
func TestUnstored(t *testing.T) {
	var unstored Unstored[string]
	slice := func(version, hint string) discoveryv1.EndpointSlice {
		return discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "1", ResourceVersion: version}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.1"}, Zone: ptr.To(hint)}},
		}
	}
	write := func(version, hint, stored string) (wrote bool) {
		have, want := slice(version, ""), []discoveryv1.EndpointSlice{slice("", hint)}
		changes := unstored.Leave("web", sliceplan.Diff([]*discoveryv1.EndpointSlice{&have}, want), want)
		before := Versions(changes)
		for _, s := range changes.Update {
			s.ResourceVersion = stored
		}
		unstored.Note("web", before, changes, want)
		if took := Took(before, changes); took != (len(changes.Update) > 0 && stored != version) {
			t.Errorf("from version %s to %q: took %v", version, stored, took)
		}
		return len(changes.Update) > 0
	}
	for i, step := range []struct {
		version, hint, stored string
		want                  bool
	}{
		{"1", "near", "", true},  // dropped
		{"1", "near", "", false}, // the same again
		{"1", "far", "", true},   // something else
		{"1", "far", "", false},  //
		{"2", "far", "3", true},  // somebody has changed it; now it is stored
		{"3", "far", "3", true},  // it came too late
		{"3", "far", "4", true},  // which says nothing of what is stored
	} {
		if wrote := write(step.version, step.hint, step.stored); wrote != step.want {
			t.Errorf("step %d: written %v", i, wrote)
		}
	}
	write("4", "far", "")
	gone := slice("4", "")
	unstored.Note("web", nil, sliceplan.Changes{Delete: []*discoveryv1.EndpointSlice{&gone}}, nil)
	if len(unstored.of) > 0 {
		t.Errorf("remembered: %v", unstored.of)
	}

	// They may go without that anybody deletes them here: with their namespace.
	write("5", "far", "")
	unstored.Forget("other")
	if write("5", "far", "") {
		t.Error("another one's are forgotten")
	}
	unstored.Forget("web")
	if len(unstored.of) > 0 {
		t.Errorf("remembered: %v", unstored.of)
	}
}
