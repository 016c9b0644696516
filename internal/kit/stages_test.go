package kit

import (
	"testing"
	"testing/synctest"
	"time"
)

// One service's writes follow each other without a pause; in a burst, later stages wait until it is over, but no longer than burstPatience.
func TestStages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stages
		entered := func(stage Stage) time.Duration {
			start := time.Now()
			for wait := s.Wait(stage, start); wait > 0; wait = s.Wait(stage, time.Now()) {
				time.Sleep(wait)
			}
			return time.Since(start)
		}
		for _, stage := range []Stage{Exported, Imported, Usable, Reported} {
			if took := entered(stage); took != 0 {
				t.Errorf("stage %d of a single service waited %v", stage, took)
			}
		}
		time.Sleep(time.Minute)

		burst := func(length time.Duration) { // of an export each 10 ms
			for start := time.Now(); time.Since(start) < length; time.Sleep(10 * time.Millisecond) {
				s.Wait(Exported, time.Now())
			}
		}
		go burst(time.Second)
		time.Sleep(100 * time.Millisecond)
		if took := entered(Exported); took != 0 {
			t.Errorf("a record waited %v for other records", took)
		}
		if took := entered(Reported); took < 900*time.Millisecond || took > 900*time.Millisecond+burstWindow {
			t.Errorf("a status waited %v in a burst that lasts another 900 ms", took)
		}
		time.Sleep(time.Minute)

		go burst(time.Minute)
		time.Sleep(100 * time.Millisecond)
		if took := entered(Usable); took != burstPatience {
			t.Errorf("a Service waited %v in a burst without end", took)
		}
		if took := entered(Usable); took != 0 {
			t.Errorf("the next one waited %v more", took)
		}
		time.Sleep(time.Hour)
	})
}
