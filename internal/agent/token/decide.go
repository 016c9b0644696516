package token

import (
	"time"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
)

const (
	// firstRetry and lastRetry bound how long to wait after an attempt to renew has failed.
	firstRetry = 10 * time.Second
	lastRetry  = 5 * time.Minute
)

// state is what there is to decide on.
type state struct {
	used   string // the token in use
	joiner bool   // it is the join file's, to be exchanged for the member's own
	// bound is the Secret on the broker that this process created when it used the join file, and the
	// zero value if it has not.
	bound  credential.Binding
	stored string // the one in the Secret, "" where there is no valid one
	// replaced is the one in place of which this process has got the one in use.
	replaced string
	// renewedAt is when the one in use was issued as far as this process knows, its own
	// clock's time, and the zero time for one that it has found.
	renewedAt time.Time
	failures  int       // of renewing, one after the other
	triedAt   time.Time // the last attempt to renew
	// jitter is the part of the time until renewal that this replica waits longer than
	// that, so that one of them comes first.
	jitter float64
}

// step is what to do next.
type step struct {
	use   string        // take this one from the Secret
	renew bool          // ask the broker for a new one
	store bool          // write the one in use to the Secret
	after time.Duration // if nothing else: look again then
}

// decide says what to do. Tokens come from two sides: this process, and, through the Secret, other replicas and a
// new join. A new join's token wins over an older join's, which is about to become invalid; of
// one join's tokens the one that was issued last wins.
func decide(s state, now time.Time) step {
	used, usedErr := credential.ParseToken(s.used)
	if s.stored != "" && s.stored != s.used {
		stored, err := credential.ParseToken(s.stored)
		switch {
		case s.stored == s.replaced:
			return step{store: true}
		case err != nil: // it can't be used, so it stays
		case usedErr == nil && stored.Subject == used.Subject && stored.Binding == used.Binding && used.Issued.After(stored.Issued):
			return step{store: true}
		default:
			return step{use: s.stored}
		}
	}
	if usedErr != nil {
		return step{after: lastRetry} // until somebody writes a valid one
	}
	due := s.renewalDue(used, now)
	if wait := due.Sub(now); wait > 0 {
		return step{after: wait}
	}
	return step{renew: true}
}

// renewalDue is when to ask for a new token in place of the one in use.
func (s state) renewalDue(used credential.Claims, now time.Time) time.Time {
	later := time.Duration(s.jitter * float64(used.RenewAfter()))
	switch {
	case s.failures > 0:
		return s.triedAt.Add(retryAfter(s.failures))
	case s.joiner:
		return now
	case !s.renewedAt.IsZero(): // known by one clock only
		return s.renewedAt.Add(used.RenewAfter() + later)
	default:
		return now.Add(used.RenewIn(now) + later)
	}
}

// retryAfter doubles with every failure.
func retryAfter(failures int) time.Duration {
	wait := firstRetry
	for range failures - 1 {
		if wait *= 2; wait >= lastRetry {
			return lastRetry
		}
	}
	return wait
}
