// Package probe checks containers again and again, as their probes say.
package probe

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Check does one check; nil means that the container is well.
type Check func(ctx context.Context) error

// eager is how often a container that is not ready yet is checked, where its
// probe's period is longer: in a lab somebody is waiting.
const eager = 250 * time.Millisecond

// Run checks until ctx is done and reports when as many checks in a row as the
// probe's thresholds ask for have succeeded or failed: the first time, when
// that changes, and again on every further failure. untilFirst makes it check
// more often until the first success; failures in between do not count.
func Run(ctx context.Context, p *corev1.Probe, untilFirst bool, check Check, report func(err error)) {
	period := seconds(p.PeriodSeconds, 10)
	judge := Judge{Success: max(int(p.SuccessThreshold), 1), Failure: max(int(p.FailureThreshold), 1)}
	wait := time.Duration(p.InitialDelaySeconds) * time.Second
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-timer.C:
		case <-ctx.Done():
			return
		}
		err := once(ctx, seconds(p.TimeoutSeconds, 1), check)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			untilFirst = false
		}
		if !(untilFirst && err != nil) && judge.Count(err == nil) {
			report(err)
		}
		if wait = period; untilFirst {
			wait = min(eager, period)
		}
		timer.Reset(wait)
	}
}

func once(ctx context.Context, timeout time.Duration, check Check) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	return check(ctx)
}

func seconds(n int32, byDefault time.Duration) time.Duration {
	if n <= 0 {
		return byDefault * time.Second
	}
	return time.Duration(n) * time.Second
}

// Judge counts results in a row.
type Judge struct {
	// Success and Failure are how many of them make a verdict.
	Success, Failure int

	last    bool
	count   int
	verdict *bool
}

// Count takes a result and tells whether there is something to report: a
// verdict that is new, or a failure that goes on.
func (j *Judge) Count(ok bool) bool {
	if ok != j.last {
		j.last, j.count = ok, 0
	}
	j.count++
	threshold := j.Failure
	if ok {
		threshold = j.Success
	}
	if j.count < threshold || ok && j.verdict != nil && *j.verdict {
		return false
	}
	j.verdict = &ok
	return true
}
