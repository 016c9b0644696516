package exportedslice

import (
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// measure counts what was written, and how long that took.
func (c *Controller) measure(req Request, have []*discoveryv1.EndpointSlice, want []discoveryv1.EndpointSlice, changes sliceplan.Changes, began time.Time) {
	service := metrics.Service{Namespace: req.Service.Namespace, Name: req.Service.Name, Cluster: c.broker.Self.String()}
	c.metrics.Exported.Note(service, req.Slice, controllers.Counts(want, c.maxEndpoints))
	took, live := c.seen.Stop(req)
	if changes.Empty() {
		return
	}
	c.metrics.Exported.Wrote(controllers.Sync(have, changes))
	if !live {
		return
	}
	c.metrics.Publish.Observe(took.Seconds())
	written := slices.Concat(changes.Create, controllers.Updated(have, changes))
	if len(written) != 1 || written[0].ResourceVersion == "" {
		return // of many writes at once, each waits for others; and what was there already was not written
	}
	c.transits.begin(written[0], began)
	for _, published := range c.broker.PublishedFrom(req.Service, written[0].Annotations[names.AnnotationSourceSlice]) {
		c.arrived(published) // before its write was answered, perhaps
	}
}

// arrived measures how long a slice took to the broker and back by this member's own watch,
// which takes as long as another member's, by one and the same clock.
func (c *Controller) arrived(slice *discoveryv1.EndpointSlice) {
	if took, ok := c.transits.end(slice); ok {
		c.metrics.Transit.Observe(took.Seconds())
	}
}

// transits are slices of which a version is on its way. The zero value is of none.
type transits struct {
	mu      sync.Mutex
	written map[string]transit
}

type transit struct {
	version string
	began   time.Time
}

// begin notes that a slice was written, as the API server returned it.
func (t *transits) begin(slice *discoveryv1.EndpointSlice, began time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.written == nil {
		t.written = map[string]transit{}
	}
	t.written[slice.Name] = transit{slice.ResourceVersion, began}
}

// end returns how long ago what is seen now was written.
func (t *transits) end(slice *discoveryv1.EndpointSlice) (time.Duration, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	w, found := t.written[slice.Name]
	if !found {
		return 0, false
	}
	if order, err := resourceversion.CompareResourceVersion(slice.ResourceVersion, w.version); err == nil && order < 0 {
		return 0, false
	}
	delete(t.written, slice.Name)
	return time.Since(w.began), true
}
