package install

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestWait(t *testing.T) {
	missing := errors.New("0 of 2 pods are ready")
	for name, test := range map[string]struct {
		patience time.Duration
		check    time.Duration // duration of each check
		ready    int           // number of the check that succeeds; 0 for none
		want     error
		took     time.Duration
	}{
		"ready at once":                        {patience: time.Second, check: time.Millisecond, ready: 1, took: time.Millisecond},
		"ready later":                          {patience: time.Second, check: time.Millisecond, ready: 2, took: pause + 2*time.Millisecond},
		"the error names the missing object":   {patience: pause / 2, check: time.Millisecond, want: missing, took: time.Millisecond + pause/2},
		"the same with a slow server":          {patience: time.Second, check: 3 * time.Second, want: missing, took: 3 * time.Second},
		"a server that is slow but ready":      {patience: time.Second, check: 3 * time.Second, ready: 1, took: 3 * time.Second},
		"a server that does not answer at all": {patience: time.Second, check: time.Hour, want: context.DeadlineExceeded, took: attemptTime},
		"a server that recovers":               {patience: time.Minute, check: time.Millisecond, ready: 3, took: 2*pause + 3*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, checks := time.Now(), 0
				err := Wait(t.Context(), test.patience, func(ctx context.Context) error {
					checks++
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(test.check):
					}
					if checks == test.ready {
						return nil
					}
					return missing
				})
				if !errors.Is(err, test.want) || err != nil && test.want == nil {
					t.Errorf("%v instead of %v", err, test.want)
				}
				// Two timers that end at the same time may fire in any order.
				if took := time.Since(began).Round(pause / 10); took != test.took.Round(pause/10) {
					t.Errorf("took %v instead of %v", took, test.took)
				}
			})
		})
	}
}
