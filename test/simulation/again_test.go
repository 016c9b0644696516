package simulation

import (
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestServiceWithTheSameSlice deletes a Service and re-creates it with its export, while its
// EndpointSlice stays. The published slice is withdrawn, and later deleted with the record. The
// next slice is imported at once, because its revision is not lower than the last.
//
// Pitfall 32.
func TestServiceWithTheSameSlice(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 2, Options{})
	shop(t, members...)
	const address = "10.202.0.1"
	export(t, members[1], "web", address, "")
	expect(t, "it is imported", members[0], address)
	for range 3 {
		planes.Delete(t, members[1].Client, objects.Service("shop", "web", 80))
		expect(t, "it has no endpoints", members[0])
		planes.Delete(t, members[1].Client, objects.Export("shop", "web"))
		planes.Gone(t, members[0].Client, objects.Import("shop", "web"))
		planes.Create(t, members[1].Client, objects.Service("shop", "web", 80), objects.Export("shop", "web"))
		began := time.Now()
		expect(t, "it is imported again", members[0], address)
		t.Logf("imported again after %v", time.Since(began).Round(time.Millisecond))
	}
}
