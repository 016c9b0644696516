package broker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"golang.org/x/time/rate"
	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// errThrottled is the error of a write that would have to wait for longer than its caller does.
var errThrottled = errors.New("this cluster's writes to the broker exceed the rate that other clusters accept from one member. The write is retried: " +
	"find out which exported Services or pods change so often")

// reportInterval is the least time between two calls of onWait.
const reportInterval = time.Minute

// Throttle waits until a member may write an object.
type Throttle func(ctx context.Context, o client.Object) error

// NewThrottle delays a member's own writes to the broker so that they do not exceed the limits on changes. Importers cut off a member
// that exceeds them. Heartbeats never wait. onWait is called when a write has to wait, once a minute at most.
func NewThrottle(limits quota.Limits, onWait func()) Throttle {
	if limits.Changes == 0 {
		return nil
	}
	t := &throttle{
		changes: rate.NewLimiter(rate.Limit(limits.Changes), limits.ChangesAtOnce),
		bytes:   rate.NewLimiter(rate.Limit(limits.BytesChanged), limits.BytesAtOnce), onWait: onWait,
	}
	return t.wait
}

type throttle struct {
	changes, bytes *rate.Limiter
	onWait         func()
	mu             sync.Mutex
	reportedAt     time.Time
}

func (t *throttle) wait(ctx context.Context, o client.Object) error {
	if _, heartbeat := o.(*coordinationv1.Lease); heartbeat {
		return nil
	}
	cost := min(informers.ChangeCost(o), t.bytes.Burst())
	if t.changes.Tokens() < 1 || t.bytes.Tokens() < float64(cost) {
		t.report()
	}
	if err := t.changes.Wait(ctx); err != nil {
		return fmt.Errorf("%w (%w)", errThrottled, err)
	}
	if err := t.bytes.WaitN(ctx, cost); err != nil {
		return fmt.Errorf("%w (%w)", errThrottled, err)
	}
	return nil
}

func (t *throttle) report() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if now := time.Now(); now.Sub(t.reportedAt) >= reportInterval {
		t.reportedAt = now
		t.onWait()
	}
}
