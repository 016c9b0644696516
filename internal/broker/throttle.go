package broker

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/atoll-mcs/atoll/internal/quota"
)

// errThrottled is the error of a write that would have to wait for longer than its caller does.
var errThrottled = errors.New("this cluster's writes to the broker exceed the rate that other clusters accept from one member. The write is retried: " +
	"find out which exported Services or pods change so often")

// reportInterval is the least time between two calls of onWait.
const reportInterval = time.Minute

// Throttle delays a member's own writes to the broker so that they do not exceed the limits on changes. Importers cut off a member
// that exceeds them. Heartbeats never wait. onWait is called when a write has to wait, once a minute at most.
func Throttle(limits quota.Limits, onWait func()) func(http.RoundTripper) http.RoundTripper {
	if limits.Changes == 0 {
		return func(next http.RoundTripper) http.RoundTripper { return next }
	}
	t := &throttle{
		changes: rate.NewLimiter(rate.Limit(limits.Changes), limits.ChangesAtOnce),
		bytes:   rate.NewLimiter(rate.Limit(limits.BytesChanged), limits.BytesAtOnce), onWait: onWait,
	}
	return func(next http.RoundTripper) http.RoundTripper { return throttled{t, next} }
}

type throttle struct {
	changes, bytes *rate.Limiter
	onWait         func()
	mu             sync.Mutex
	reportedAt     time.Time
}

type throttled struct {
	*throttle
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t throttled) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead && !strings.Contains(r.URL.Path, "/leases/") {
		if err := t.wait(r); err != nil {
			return nil, err
		}
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go look through.
func (t throttled) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t throttled) wait(r *http.Request) error {
	size := int(max(0, min(r.ContentLength, int64(t.bytes.Burst()))))
	if t.changes.Tokens() < 1 || t.bytes.Tokens() < float64(size) {
		t.report()
	}
	if err := t.changes.Wait(r.Context()); err != nil {
		return fmt.Errorf("%w (%w)", errThrottled, err)
	}
	if err := t.bytes.WaitN(r.Context(), size); err != nil {
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
