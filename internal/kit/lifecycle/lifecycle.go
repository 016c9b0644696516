// Package lifecycle starts and stops controllers as API servers and leases come and go, with the probes and
// options that agent and hub share.
package lifecycle

import (
	"context"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/manager"
)

const (
	// firstPause and lastPause bound how long to wait before trying again what has failed.
	firstPause = time.Second
	lastPause  = 15 * time.Second
	// longTerm is how long a term has lasted after whose end there is no reason to wait.
	longTerm = time.Minute
)

// Timings of the election. A leader that ends gives its lease up; one that is killed is
// replaced after LeaseDuration and at most one RetryPeriod. One that can't renew its lease for
// RenewDeadline stops. Kubernetes' own components take about twice as long for each.
const (
	LeaseDuration = 8 * time.Second
	RenewDeadline = 5 * time.Second
	RetryPeriod   = time.Second
)

// Terms runs the controllers, and again whenever they have ended, until ctx is done: because
// the lease of their leader was lost, or the API server or its custom resources are not there.
// Before each term, served has to return nil; what says for what it waits.
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
		log.Warn("The controllers ended. They are restarted.", "error", err)
		sleep(ctx, pause)
	}
}

// Retry calls f until it succeeds. It returns false when ctx is done before that.
func Retry(ctx context.Context, log *slog.Logger, what string, f func(context.Context) error) bool {
	var said string
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := f(ctx)
		if ctx.Err() != nil {
			return false
		}
		if err == nil {
			return true
		}
		if err.Error() != said {
			said = err.Error()
			log.Error(what+" failed; retrying", "error", err)
		}
		sleep(ctx, pause)
	}
}

// NoteElection logs when a manager's replica becomes the leader, if ctx lasts that long.
func NoteElection(ctx context.Context, log *slog.Logger, mgr manager.Manager) {
	log.Info("This replica waits until it is elected leader.")
	go func() {
		select {
		case <-ctx.Done():
		case <-mgr.Elected():
			log.Info("this replica is the leader")
		}
	}()
}

// sleep waits, unless ctx is done before.
func sleep(ctx context.Context, pause time.Duration) {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
