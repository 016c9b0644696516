package simulation

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
)

// leaseRequests counts a member's requests for heartbeats on the broker.
type leaseRequests struct {
	mu                           sync.Mutex
	watches, lists, gets, writes int
}

func (l *leaseRequests) of(next http.RoundTripper) http.RoundTripper {
	return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
		if strings.Contains(r.URL.Path, "/leases") && !r.URL.Query().Has("fieldSelector") { // which is the own one's
			l.mu.Lock()
			switch all := path.Base(r.URL.Path) == "leases"; {
			case r.URL.Query().Has("watch"):
				l.watches++
			case r.Method != http.MethodGet:
				l.writes++
			case all:
				l.lists++
			default:
				l.gets++
			}
			l.mu.Unlock()
		}
		return next.RoundTrip(r)
	})
}

// TestHeartbeatsAreListed has four members do nothing for some intervals: each lists all heartbeats as often as it looks after its
// own, however often the others renew theirs, and watches none but its own.
func TestHeartbeatsAreListed(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	b, _, err := MemoryBroker()
	must(t, err)
	members := joinAll(t, b, 4, Options{Args: []string{"--lease-timeout=2s"}})
	watched := members[3]
	must(t, watched.Stop())
	requests := &leaseRequests{}
	watched.options.Broker.Wrap(requests.of)
	must(t, watched.Start(t.Context()))
	eventually(t, "heartbeats are renewed", func(context.Context) error {
		requests.mu.Lock()
		defer requests.mu.Unlock()
		if requests.writes < 6 {
			return fmt.Errorf("%d times", requests.writes)
		}
		return nil
	})
	requests.mu.Lock()
	defer requests.mu.Unlock()
	// One more when the controllers begin, one that is under way.
	if requests.watches > 0 || requests.lists > requests.gets+2 || requests.lists < requests.gets/2 || requests.writes > requests.gets {
		t.Errorf("of heartbeats there were %d watches, %d lists, %d reads of the own one and %d writes", requests.watches, requests.lists, requests.gets, requests.writes)
	}
}
