package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Health answers probes for as long as the process runs. A program that waits for its API server is alive: a restart
// would not help.
type Health struct {
	// Waiting is the probe's response while the program waits.
	Waiting string

	ready atomic.Bool
}

// Serve listens at an address until ctx is done; "0" disables it.
func (h *Health) Serve(ctx context.Context, address string) error {
	if address == "0" || address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening for health probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, h.Waiting, http.StatusServiceUnavailable)
			return
		}
		fmt.Fprint(w, "ok")
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	go func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // only a programming error closes the open listener
		}
	}()
	return nil
}

// Started returns a runnable that makes the program ready while its manager runs with synced caches.
func (h *Health) Started() manager.Runnable { return readiness{h} }

type readiness struct{ health *Health }

// Start implements manager.Runnable.
func (r readiness) Start(ctx context.Context) error {
	r.health.ready.Store(true)
	<-ctx.Done()
	r.health.ready.Store(false)
	return nil
}

// NeedLeaderElection returns false, so that standby replicas are ready too.
func (readiness) NeedLeaderElection() bool { return false }
