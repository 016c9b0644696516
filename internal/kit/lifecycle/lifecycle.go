// Package lifecycle starts and stops the controllers of agent and hub when API servers or leases become available or
// are lost.
package lifecycle

import (
	"context"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// firstPause and lastPause bound the backoff after a failure.
	firstPause = time.Second
	lastPause  = 15 * time.Second
	// longTerm is the length of a term after which the next one starts without a pause.
	longTerm = time.Minute
)

// Timings of the election. A leader that ends releases its Lease; a killed one is replaced after LeaseDuration and at
// most one RetryPeriod. A leader that cannot renew for RenewDeadline stops: an API server that is slow for some
// seconds ends no term. Kubernetes' components use 15 s, 10 s and 2 s.
const (
	LeaseDuration = 13 * time.Second
	RenewDeadline = 10 * time.Second
	RetryPeriod   = time.Second
)

// Terms runs term again and again until ctx is done. A term ends when the leader's Lease is lost, or the API server or
// its custom resources are unavailable. Before each term, served must return nil; what describes that wait in the log.
func Terms(ctx context.Context, log *slog.Logger, what string, served func(context.Context) error, term func(context.Context) error) {
	for pause := firstPause; ctx.Err() == nil; pause = min(2*pause, lastPause) {
		if !Retry(ctx, log, what, served) {
			return
		}
		began := time.Now()
		err := term(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > longTerm {
			pause = firstPause
		}
		log.Warn("The controllers stopped, and the program restarts them", "error", err)
		sleep(ctx, pause)
	}
}

// Retry calls f until it succeeds. It returns false if ctx is done first.
func Retry(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) bool {
	var lastError string
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := f(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		if err.Error() != lastError {
			lastError = err.Error()
			log.Error("Failed, and the program retries", "action", what, "error", err)
		}
		sleep(ctx, pause)
	}
}

// NoteElection logs when this replica becomes the leader, unless ctx is done first.
func NoteElection(ctx context.Context, log *slog.Logger, mgr manager.Manager) {
	log.Info("Waiting to be elected leader")
	go func() {
		select {
		case <-ctx.Done():
		case <-mgr.Elected():
			log.Info("Elected leader")
		}
	}()
}

func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
