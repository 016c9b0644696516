package kit

import (
	"testing"
	"time"
)

// Writes of a single service follow each other without a pause. In a burst, later stages wait
// for the end of the burst, but no longer than burstPatience.
func TestStages(t *testing.T) {
	var s Stages
	now := time.Unix(0, 0)
	const every = 10 * time.Millisecond
	// burst writes a record every 10 ms for a while. It returns how long a write of a stage
	// waits that arrives with the tenth record.
	burst := func(length time.Duration, stage Stage) (waited time.Duration) {
		entered := false
		due := now.Add(10 * every) // next time at which the write asks
		for start, asked := now, due; now.Sub(start) < length+3*time.Second; now = now.Add(every) {
			if now.Sub(start) < length {
				if wait := s.Wait(Exported, now); wait != 0 {
					t.Fatalf("a record waits %v for other records", wait)
				}
			}
			if !entered && !now.Before(due) {
				wait := s.Wait(stage, now)
				due = now.Add(wait)
				if entered = wait == 0; entered {
					waited = now.Sub(asked)
				}
			}
		}
		if !entered {
			t.Fatalf("a write of stage %d has not been made three seconds after the burst", stage)
		}
		now = now.Add(time.Minute)
		return waited
	}

	for _, stage := range []Stage{Exported, Imported, Usable, Reported} {
		if wait := s.Wait(stage, now); wait != 0 {
			t.Errorf("stage %d of a single service waits %v", stage, wait)
		}
	}
	now = now.Add(time.Minute)
	if waited := burst(time.Second, Reported); waited < 900*time.Millisecond || waited > 900*time.Millisecond+burstWindow+burstPause {
		t.Errorf("a status waited %v in a burst that lasts another 900 ms", waited)
	}
	if waited := burst(time.Minute, Usable); waited < burstPatience || waited > burstPatience+every {
		t.Errorf("a Service waited %v in a burst of a minute", waited)
	}
	if waited := burst(50*time.Millisecond, Usable); waited != 0 {
		t.Errorf("a Service waited %v for five records", waited)
	}
}

// A slow API server completes fewer writes within the window, so writes without a response
// count too.
func TestStagesOfASlowAPIServer(t *testing.T) {
	var s Stages
	answer, asked := make(chan struct{}), make(chan struct{})
	ended := make(chan error)
	for range burstWriting {
		go func() {
			ended <- s.Do(Usable, func() error { asked <- struct{}{}; <-answer; return nil })
		}()
		<-asked
	}
	late := time.Now().Add(2 * burstWindow)
	if wait := s.Wait(Reported, late); wait != burstPause {
		t.Errorf("a status waits %v", wait)
	}
	if wait := s.Wait(Usable, late); wait != 0 {
		t.Errorf("a write of the same stage waits %v", wait)
	}
	close(answer)
	for range burstWriting {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	if wait := s.Wait(Reported, late); wait != 0 {
		t.Errorf("when all are answered, a status waits %v", wait)
	}
}
