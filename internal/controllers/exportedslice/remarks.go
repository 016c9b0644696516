package exportedslice

import (
	"fmt"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/status"
)

// remarks say what people should know of a Service's slices, with what is left out of them as invalid.
func remarks(sum controllers.SlicesSummary) []status.Remark {
	if sum.Refused == 0 {
		return sum.Remarks
	}
	return append(sum.Remarks, status.Remark{
		Reason:  "EndpointsInvalid",
		Message: fmt.Sprintf("Left out of the EndpointSlices is %s. The other endpoints are exported. Correct the EndpointSlice.", sum.First),
	})
}
