package token

import (
	"time"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
)

const (
	// firstRetry and lastRetry bound the backoff after a failed renewal.
	firstRetry = 10 * time.Second
	lastRetry  = 5 * time.Minute
)

type state struct {
	used   string // the current token
	joiner bool   // it is the join file's token, to exchange for the member's own
	// bound is the Secret on the broker that this process created with the join file, or the zero value.
	bound  credential.Binding
	stored string // the token in the Secret, "" if invalid or missing
	// replaced is the token that this process exchanged for the current one.
	replaced string
	// renewedAt is when this process got the current token, by its own clock. It is zero for a token that it found.
	renewedAt time.Time
	failures  int       // consecutive failures to renew
	triedAt   time.Time // the last attempt to renew
	// jitter is the part of the time until renewal that this replica waits longer, so that one replica comes first.
	jitter float64
}

type step struct {
	use   string        // use this token from the Secret
	renew bool          // request a new token from the broker
	store bool          // write the current token to the Secret
	after time.Duration // otherwise, check again after this time
}

// decide returns the next step. Tokens come from this process and, through the Secret, from other replicas and new
// joins. A new join's token wins over an older join's, which is about to become invalid. Within a join, the token
// issued last wins.
func decide(s state, now time.Time) step {
	used, usedErr := credential.ParseToken(s.used)
	if s.stored != "" && s.stored != s.used {
		stored, err := credential.ParseToken(s.stored)
		switch {
		case s.stored == s.replaced:
			return step{store: true}
		case err != nil: // unusable: keep the current one
		case usedErr == nil && stored.Subject == used.Subject && stored.Binding == used.Binding && used.Issued.After(stored.Issued):
			return step{store: true}
		default:
			return step{use: s.stored}
		}
	}
	if usedErr != nil {
		return step{after: lastRetry} // until the Secret has a valid one
	}
	due := s.renewalDue(used, now)
	if wait := due.Sub(now); wait > 0 {
		return step{after: wait}
	}
	return step{renew: true}
}

// renewalDue returns when to request a replacement of the current token.
func (s state) renewalDue(used credential.Claims, now time.Time) time.Time {
	later := time.Duration(s.jitter * float64(used.RenewAfter()))
	switch {
	case s.failures > 0:
		return s.triedAt.Add(retryAfter(s.failures))
	case s.joiner:
		return now
	case !s.renewedAt.IsZero(): // only this process's clock counts
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
