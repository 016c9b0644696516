package survey

import (
	"net/http"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
)

// Clock learns an API server's time from its answers: the machines' clocks may differ. The zero
// value has seen none.
type Clock struct {
	mu      sync.Mutex
	at      time.Time
	took    time.Duration
	ahead   time.Duration
	fastest time.Duration
}

// Wrap has the clock see the answers.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		start := time.Now()
		response, err := next.RoundTrip(r)
		if err != nil {
			return nil, err
		}
		end := time.Now()
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.took = end.Sub(start); c.fastest == 0 || c.took < c.fastest {
			c.fastest = c.took
		}
		if at, err := http.ParseTime(response.Header.Get("Date")); err == nil {
			c.at, c.ahead = at, probe.Ahead(at, start, end)
		} else {
			c.at = end // a proxy has taken the time out
		}
		return response, nil
	})
}

// Last returns the time of the last answer, to the second, and how long it took.
func (c *Clock) Last() (at time.Time, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, c.took
}

// Ahead returns by how much the server's clock is ahead of this machine's, and how long the fastest
// answer took. Of several answers the last one with a time counts, whose connection was there already.
func (c *Clock) Ahead() (ahead, fastest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.fastest
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
