package survey

import (
	"net/http"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
)

// Clock learns an API server's time from its responses, because clocks may differ. The zero value is ready to use.
type Clock struct {
	mu      sync.Mutex
	at      time.Time
	took    time.Duration
	ahead   time.Duration
	fastest time.Duration
}

// Wrap lets the clock see all responses.
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
			c.at = end // a proxy has removed the header
		}
		return response, nil
	})
}

// Last returns the time of the last response, to the second, and how long it took.
func (c *Clock) Last() (at time.Time, took time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at, c.took
}

// Ahead returns how far the server's clock is ahead of this machine's, and the time of the fastest response. ahead
// comes from the last response with a Date header, which reused a connection.
func (c *Clock) Ahead() (ahead, fastest time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ahead, c.fastest
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
