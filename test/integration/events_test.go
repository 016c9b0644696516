package integration

import (
	"fmt"
	"slices"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/test/planes"
)

// The agent sends one Event for every transition of a condition, although its caches may be
// stale for some milliseconds. The first Valid and NoConflicts of a new export are not
// transitions.
func TestEachTransitionIsOneEvent(t *testing.T) {
	const ns, exports = "events", 30
	namespace(t, ns, "c1", "c2")
	for i := range exports {
		create(t, "c1", service(ns, fmt.Sprint("web", i), 80), export(ns, fmt.Sprint("web", i)))
	}
	for i := range exports {
		planes.Told(t, on["c1"], ns, "ServiceExport", fmt.Sprint("web", i), "Exported", "")
	}
	// The agent sends Events in order, so the Event about the last export comes after all
	// Events about the others, duplicates included.
	create(t, "c1", service(ns, "last", 80), export(ns, "last"))
	planes.Told(t, on["c1"], ns, "ServiceExport", "last", "Exported", "")
	list := &eventsv1.EventList{}
	noError(t, on["c1"].List(t.Context(), list, client.InNamespace(ns)))
	told := map[string][]string{}
	for _, e := range list.Items {
		if e.Regarding.Kind == "ServiceExport" && e.Reason != "Pending" { // an export may be Pending at first
			times := 1 + ptr.Deref(e.Series, eventsv1.EventSeries{}).Count
			told[e.Regarding.Name] = append(told[e.Regarding.Name], fmt.Sprint(e.Reason, times))
		}
	}
	for name, reasons := range told {
		if !slices.Equal(reasons, []string{"Exported1"}) {
			t.Errorf("Events of %s: %v", name, reasons)
		}
	}
}
