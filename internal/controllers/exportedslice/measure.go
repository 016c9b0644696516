package exportedslice

import (
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/metrics"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// measure counts what was written, and how long that took.
func (c *Controller) measure(req Request, have []*discoveryv1.EndpointSlice, want []discoveryv1.EndpointSlice, changes sliceplan.Changes) {
	service := metrics.Service{Namespace: req.Service.Namespace, Name: req.Service.Name, Cluster: c.broker.Self.String()}
	c.metrics.Exported.Note(service, req.Slice, controllers.Counts(want, c.maxEndpoints))
	took, live := c.seen.Stop(req)
	if changes.Empty() {
		return
	}
	c.metrics.Exported.Wrote(controllers.Sync(have, changes))
	if live {
		c.metrics.Publish.Observe(took.Seconds())
	}
}
