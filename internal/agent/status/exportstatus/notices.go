package exportstatus

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Notices say which of a Service's slices are not exported, or do not hold all endpoints.
func Notices(sources []*discoveryv1.EndpointSlice) []status.Warning {
	var warnings []status.Warning
	if slice, more := endpoints.FirstUnsupported(sources); slice != nil {
		warnings = append(warnings, status.Warning{
			Reason: "UnsupportedAddressType",
			Message: fmt.Sprintf("EndpointSlice %s%s is left out, for it holds addresses of type %s: only IP addresses can be exported.",
				slice.Name, and(more), slice.AddressType),
		})
	}
	if slice, more := endpoints.FirstForeign(sources); slice != nil {
		warnings = append(warnings, status.Warning{
			Reason: "ForeignEndpoints",
			Message: fmt.Sprintf("EndpointSlice %s%s is left out, for its labels say that another cluster's endpoints are in it (%s, or %s of Karmada's), "+
				"and the Service has no others. If they are this cluster's own, take the label away.",
				slice.Name, and(more), names.LabelSourceCluster, discoveryv1.LabelManagedBy),
		})
	}
	if endpoints.Truncated(sources) {
		warnings = append(warnings, status.Warning{
			Reason: "EndpointsTruncated",
			Message: fmt.Sprintf("The Endpoints object has reached the %d addresses that Kubernetes takes from one: "+
				"any more are used neither in this cluster nor in others. Make EndpointSlices in its place.", endpoints.MaxMirrored),
		})
	}
	return warnings
}

func and(more int) string {
	if more == 0 {
		return ""
	}
	return fmt.Sprintf(" (and %d more)", more)
}
