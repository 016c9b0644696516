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

// Every transition of a condition is told of by one Event, although controllers decide on
// copies that may be some milliseconds old. That a new export is valid and in no conflict is none.
func TestEachTransitionIsOneEvent(t *testing.T) {
	const ns, exports = "events", 30
	namespace(t, ns, "c1", "c2")
	for i := range exports {
		create(t, "c1", service(ns, fmt.Sprint("web", i), 80), export(ns, fmt.Sprint("web", i)))
	}
	for i := range exports {
		planes.Told(t, on["c1"], ns, "ServiceExport", fmt.Sprint("web", i), "Exported", "")
	}
	// Events are written in their order, so that those of another export come after all of
	// these, doubled ones included.
	create(t, "c1", service(ns, "last", 80), export(ns, "last"))
	planes.Told(t, on["c1"], ns, "ServiceExport", "last", "Exported", "")
	list := &eventsv1.EventList{}
	noError(t, on["c1"].List(t.Context(), list, client.InNamespace(ns)))
	told := map[string][]string{}
	for _, e := range list.Items {
		if e.Regarding.Kind == "ServiceExport" && e.Reason != "Pending" { // which it may be at first
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
