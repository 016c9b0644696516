package kit

import (
	"slices"
	"sync"
	"time"
)

// Stage is a service's progress at a write.
type Stage int

// The stages of an export, in order.
const (
	// Exported is its record on the broker.
	Exported Stage = iota
	// Imported is its ServiceImport, and its EndpointSlices on the broker.
	Imported
	// Usable is its derived Service, that Service's address in the ServiceImport, and its EndpointSlices.
	Usable
	// Reported is its statuses and its catalogue entry.
	Reported

	stages = int(Reported) + 1
)

const (
	// burstWrites writes of earlier stages within burstWindow are a burst, and so are burstWriting that a slow API
	// server has not answered yet. Later stages wait, at most burstPatience: 200 exports take 10 to 20 s on two slow
	// processors.
	burstWrites   = 8
	burstWriting  = workers / 2
	burstWindow   = 250 * time.Millisecond
	burstPause    = time.Second // between two attempts to write a status
	burstPatience = 15 * time.Second
)

// Stages orders the writes of many simultaneous exports by stage. Most writes belong to the last two stages, and would
// delay the first stages of other services on a busy API server. A single service never waits. Only creations wait:
// endpoint changes and removals are immediate. The zero value is ready for use.
type Stages struct {
	mu      sync.Mutex
	latest  [stages][]time.Time // start times of the latest writes, at most burstWrites
	writing [stages]int         // writes in progress
	began   [stages]time.Time   // since when a stage waits for a burst
}

// Wait returns how long a write of a stage must wait, 0 for none.
func (s *Stages) Wait(stage Stage, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if left := s.burst(stage, now); left <= 0 {
		s.began[stage] = time.Time{}
	} else {
		if s.began[stage].IsZero() {
			s.began[stage] = now
		}
		if stage == Reported {
			left = burstPause // hundreds that ask again often would be a load of their own
		}
		if patience := s.began[stage].Add(burstPatience).Sub(now); patience > 0 {
			return min(left, patience)
		}
	}
	latest := append(s.latest[stage], now)
	s.latest[stage] = latest[max(0, len(latest)-burstWrites):]
	return 0
}

// Do writes, or returns an error for Outcome if a write of this stage must wait.
func (s *Stages) Do(stage Stage, write func() error) error {
	if err := Later(s.Wait(stage, time.Now())); err != nil {
		return err
	}
	s.count(stage, 1)
	defer s.count(stage, -1)
	return write()
}

func (s *Stages) count(stage Stage, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writing[stage] += n
}

// Later returns an error for Outcome if wait is positive, else nil.
func Later(wait time.Duration) error {
	if wait > 0 {
		return laterError(wait)
	}
	return nil
}

// laterError is how long a write must wait.
type laterError time.Duration

func (e laterError) Error() string {
	return "a burst of exports delays the write by " + time.Duration(e).String()
}

// burst returns how long the current burst of earlier stages lasts without further writes.
func (s *Stages) burst(stage Stage, now time.Time) time.Duration {
	writing := 0
	for _, n := range s.writing[:stage] {
		writing += n
	}
	if writing >= burstWriting {
		return burstWindow
	}
	latest := slices.Concat(s.latest[:stage]...)
	if len(latest) < burstWrites {
		return 0
	}
	slices.SortFunc(latest, time.Time.Compare)
	return latest[len(latest)-burstWrites].Add(burstWindow).Sub(now)
}
