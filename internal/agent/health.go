package agent

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

// health answers probes for as long as the process runs. An agent that waits for its API
// server, for the broker or to be joined is alive: starting it again would not help.
type health struct {
	ready atomic.Bool
}

// serve answers at an address until ctx is done; at "0", nowhere.
func (h *health) serve(ctx context.Context, address string) error {
	if address == "0" || address == "" {
		return nil
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return fmt.Errorf("listening for probes: %w", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if !h.ready.Load() {
			http.Error(w, "the agent waits for its cluster or to be joined: see its log", http.StatusServiceUnavailable)
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
			panic(err) // the listener is open, and nobody else closes it
		}
	}()
	return nil
}

// started returns what makes the agent ready when the manager's copies of the cluster are
// complete, for as long as it runs.
func (h *health) started() manager.Runnable { return readiness{h} }

type readiness struct{ health *health }

// Start implements manager.Runnable.
func (r readiness) Start(ctx context.Context) error {
	r.health.ready.Store(true)
	<-ctx.Done()
	r.health.ready.Store(false)
	return nil
}

// NeedLeaderElection makes replicas that stand by ready too.
func (readiness) NeedLeaderElection() bool { return false }
