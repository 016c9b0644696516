package broker

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// What a throttle lets through in a burst is within the budget that importers measure in the same way.
func TestThrottleStaysWithinTheBudget(t *testing.T) {
	limits := quota.Limits{Changes: 0.001, ChangesAtOnce: 1000, BytesChanged: 0.001, BytesAtOnce: 1 << 20}
	waits := 0
	throttle := NewThrottle(limits.Share(0.8), func() { waits++ })
	account := quota.NewBudget(limits, time.Now, nil).NewAccount()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	slice := &discoveryv1.EndpointSlice{Ports: make([]discoveryv1.EndpointPort, 10), Endpoints: make([]discoveryv1.Endpoint, 100)}
	written := 0
	for ; throttle(ctx, slice) == nil; written++ {
		if _, cut := account.Changed("c1", "web", informers.Size(slice), informers.ChangeCost(slice)); cut {
			t.Fatalf("importers cut the member off after %d writes", written)
		}
	}
	if written < 5 || waits != 1 {
		t.Errorf("%d writes went through, and %d waits were reported", written, waits)
	}
	if err := throttle(ctx, slice); !errors.Is(err, errThrottled) {
		t.Errorf("%v", err)
	}
	if err := throttle(ctx, &coordinationv1.Lease{}); err != nil {
		t.Errorf("a heartbeat waits: %v", err)
	}
}
