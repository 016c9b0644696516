package kit

import (
	"slices"
	"sync"
	"time"
)

// Stage is how far a service is when something is written for it.
type Stage int

// The stages of an export, in the order in which others wait for them.
const (
	// Exported is its record on the broker.
	Exported Stage = iota
	// Imported is its ServiceImport, and its EndpointSlices on the broker, which the importing clusters wait for next.
	Imported
	// Usable is its derived Service, the address of that in the ServiceImport, and its EndpointSlices.
	Usable
	// Reported is what only tells how it went: statuses and the catalogue.
	Reported

	stages = int(Reported) + 1
)

const (
	// So many writes of earlier stages within burstWindow are a burst, which later stages wait for, but not for longer than burstPatience in all.
	burstWrites   = 8
	burstWindow   = 250 * time.Millisecond
	burstPatience = 5 * time.Second
)

// Stages has the stages of many exports at once be written one after the other: most writes are of the last two stages, and on busy API servers the
// first ones of the last services would have to wait for all of them. A service that comes alone never waits. Only what is created waits: changes and
// removals of endpoints go out at once. The zero value is ready for use.
type Stages struct {
	mu     sync.Mutex
	latest [stages][]time.Time // when the latest writes began, burstWrites at most
	began  [stages]time.Time   // since when a stage has waited for a burst
}

// Wait returns for how long a write of a stage has to wait, 0 when it is to be made now.
func (s *Stages) Wait(stage Stage, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.burst(stage, now); left <= 0 {
		s.began[stage] = time.Time{}
	} else {
		if s.began[stage].IsZero() {
			s.began[stage] = now
		}
		if patience := s.began[stage].Add(burstPatience).Sub(now); patience > 0 {
			return min(left, patience)
		}
	}
	latest := append(s.latest[stage], now)
	s.latest[stage] = latest[max(0, len(latest)-burstWrites):]
	return 0
}

// Enter returns an error that Outcome understands when a write of a stage has to wait.
func (s *Stages) Enter(stage Stage) error {
	return Later(s.Wait(stage, time.Now()))
}

// Later returns an error that Outcome understands when a write has to wait, nil when it has not.
func Later(wait time.Duration) error {
	if wait > 0 {
		return laterError(wait)
	}
	return nil
}

// laterError is for how long a write has to wait.
type laterError time.Duration

func (e laterError) Error() string {
	return "waits for a burst of exports, " + time.Duration(e).String()
}

// burst returns for how long a burst of earlier stages goes on if no more is written of them.
func (s *Stages) burst(stage Stage, now time.Time) time.Duration {
	latest := slices.Concat(s.latest[:stage]...)
	if len(latest) < burstWrites {
		return 0
	}
	slices.SortFunc(latest, time.Time.Compare)
	return latest[len(latest)-burstWrites].Add(burstWindow).Sub(now)
}
