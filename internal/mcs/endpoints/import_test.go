package endpoints

import (
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// An endpoint without conditions is ready. Some proxies do not know that, so its readiness is written.
func TestUnknownReadinessIsReady(t *testing.T) {
	given := []discoveryv1.Endpoint{
		{Addresses: []string{"10.1.0.1"}}, {Addresses: []string{"10.1.0.2"}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}},
	}
	for name, got := range map[string][]discoveryv1.Endpoint{"own": withoutHints(given), "another cluster's": withoutLocalMeaning(given)} {
		if !ptr.Deref(got[0].Conditions.Ready, false) || ptr.Deref(got[1].Conditions.Ready, true) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if given[0].Conditions.Ready != nil {
		t.Error("the given endpoint was changed")
	}
}
