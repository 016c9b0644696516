package integration

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Every transition of a condition is told of by one Event, although controllers decide on
// copies that may be some milliseconds old. That a new export is valid and in no conflict is none.
func TestEachTransitionIsOneEvent(t *testing.T) {
	const ns, exports = "events", 30
	namespace(t, ns, "c1", "c2")
	uids := map[types.UID]string{}
	for i := range exports {
		name := fmt.Sprintf("web%d", i)
		create(t, "c1", service(ns, name, 80))
		e := export(ns, name)
		create(t, "c1", e)
		uids[e.UID] = name
	}
	want := []string{"Exported"}
	expectEvents(t, ns, uids, want)
	// Events are written in their order, so that those of another export come after all of
	// these, doubled ones included.
	create(t, "c1", service(ns, "last", 80))
	last := export(ns, "last")
	create(t, "c1", last)
	expectEvents(t, ns, map[types.UID]string{last.UID: "last"}, want)
	for name, reasons := range reasonsOf(t, ns, uids) {
		if !slices.Equal(reasons, want) {
			t.Errorf("Events of %s: %v, want %v", name, reasons, want)
		}
	}
}

// expectEvents waits until objects have at least Events of these reasons.
func expectEvents(t *testing.T, namespace string, uids map[types.UID]string, want []string) {
	t.Helper()
	eventually(t, "Events", func() error {
		have := reasonsOf(t, namespace, uids)
		for _, name := range slices.Sorted(maps.Values(uids)) {
			for _, reason := range want {
				if !slices.Contains(have[name], reason) {
					return fmt.Errorf("%s has Events %v", name, have[name])
				}
			}
		}
		return nil
	})
}

// reasonsOf returns the sorted reasons of the Events about objects, each as often as it
// was told, but for what is pending at first.
func reasonsOf(t *testing.T, namespace string, uids map[types.UID]string) map[string][]string {
	t.Helper()
	list := &eventsv1.EventList{}
	noError(t, on["c1"].List(t.Context(), list, client.InNamespace(namespace)))
	reasons := map[string][]string{}
	for _, e := range list.Items {
		name, ok := uids[e.Regarding.UID]
		if !ok || e.Reason == "Pending" {
			continue
		}
		times := 1
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		reasons[name] = append(reasons[name], slices.Repeat([]string{e.Reason}, times)...)
	}
	for _, r := range reasons {
		slices.Sort(r)
	}
	return reasons
}
