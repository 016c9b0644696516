package exportstatus

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Notices report which of a Service's slices are not exported, or lack endpoints.
func Notices(sources []*discoveryv1.EndpointSlice) []status.Warning {
	var warnings []status.Warning
	if slice, more := endpoints.FirstUnsupported(sources); slice != nil {
		warnings = append(warnings, status.Warning{
			Reason: "UnsupportedAddressType",
			Message: fmt.Sprintf("EndpointSlice %s%s is not exported: it has addresses of type %s, and only IP addresses can be exported.",
				slice.Name, and(more), slice.AddressType),
		})
	}
	if slice, more := endpoints.FirstForeign(sources); slice != nil {
		warnings = append(warnings, status.Warning{
			Reason: "ForeignEndpoints",
			Message: fmt.Sprintf("EndpointSlice %s%s is not exported: the label %s, or Karmada's value of the label %s, marks its endpoints as endpoints of another cluster. "+
				"The Service has no other EndpointSlices. If the endpoints are in this cluster, remove the label.",
				slice.Name, and(more), names.LabelSourceCluster, discoveryv1.LabelManagedBy),
		})
	}
	if endpoints.Truncated(sources) {
		warnings = append(warnings, status.Warning{
			Reason: "EndpointsTruncated",
			Message: fmt.Sprintf("The Endpoints object has reached the maximum of %d addresses that Kubernetes copies to EndpointSlices. "+
				"No cluster uses the remaining addresses. Create EndpointSlices instead.", endpoints.MaxMirrored),
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
