package exportedslice

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/status"
)

func TestRemarks(t *testing.T) {
	sum := controllers.SlicesSummary{Refused: 1, First: `endpoint "127.0.0.1": is a loopback address`, Remarks: []status.Remark{{Reason: "ForeignEndpoints"}}}
	if diff := cmp.Diff([]status.Remark{{Reason: "ForeignEndpoints"}, {
		Reason:  "EndpointsInvalid",
		Message: `Left out of the EndpointSlices is endpoint "127.0.0.1": is a loopback address. The other endpoints are exported. Correct the EndpointSlice.`,
	}}, remarks(sum)); diff != "" {
		t.Errorf("remarks (-want +got):\n%s", diff)
	}
}
