package simulation

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/test/planes"
)

// TestAgentEndsWhileItsClusterIsAway stops an agent that waits for an API server. The API
// server went down while the agent started.
func TestAgentEndsWhileItsClusterIsAway(t *testing.T) {
	b, err := MemoryBroker()
	planes.NoError(t, err)
	m, err := Join(t.Context(), b, 1, Options{})
	planes.NoError(t, err)
	planes.NoError(t, m.Stop())
	asked := make(chan struct{})
	var once sync.Once
	m.options.Local.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.URL.Path == "/apis/discovery.k8s.io/v1/endpointslices" {
				once.Do(func() { close(asked) })
				return nil, errors.New("away")
			}
			return next.RoundTrip(r)
		})
	})
	planes.NoError(t, m.Start(t.Context()))
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- m.Stop() }()
	select {
	case err := <-ended:
		planes.NoError(t, err)
	case <-time.After(20 * time.Second):
		t.Fatal("the agent did not stop")
	}
}

// TestSlicesDoNotWaitForTheAddress refuses every change of ServiceImports. The agent writes
// slices after the derived Service and does not wait until the import has its address.
func TestSlicesDoNotWaitForTheAddress(t *testing.T) {
	t.Parallel()
	_, members := joinAll(t, 2, Options{})
	for _, m := range members {
		planes.NoError(t, m.Stop())
		m.options.Local.Wrap(func(next http.RoundTripper) http.RoundTripper {
			return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.Method == http.MethodPatch && strings.HasSuffix(r.URL.Path, "/serviceimports/web") {
					return nil, errors.New("away")
				}
				return next.RoundTrip(r)
			})
		})
		planes.NoError(t, m.Start(t.Context()))
	}
	shop(t, members...)
	export(t, members[0], "web", "10.201.0.1", "")
	for _, m := range members {
		expect(t, "the slice is imported", m, "10.201.0.1")
	}
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
