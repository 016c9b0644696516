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
		look     time.Duration // duration of each check
		ready    int           // number of the check that succeeds; 0 for none
		want     error
		took     time.Duration
	}{
		"ready at once":                         {patience: time.Second, look: time.Millisecond, ready: 1, took: time.Millisecond},
		"ready later":                           {patience: time.Second, look: time.Millisecond, ready: 2, took: pause + 2*time.Millisecond},
		"what is missing is said":               {patience: pause / 2, look: time.Millisecond, want: missing, took: time.Millisecond + pause/2},
		"a slow server's answer, too":           {patience: time.Second, look: 3 * time.Second, want: missing, took: 3 * time.Second},
		"a server that is slow but ready":       {patience: time.Second, look: 3 * time.Second, ready: 1, took: 3 * time.Second},
		"a server that does not answer at all":  {patience: time.Second, look: time.Hour, want: context.DeadlineExceeded, took: attemptTime},
		"one that answers when looked at again": {patience: time.Minute, look: time.Millisecond, ready: 3, took: 2*pause + 3*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, looks := time.Now(), 0
				err := Wait(t.Context(), test.patience, func(ctx context.Context) error {
					looks++
					select {
					case <-ctx.Done():
						return ctx.Err()
					case <-time.After(test.look):
					}
					if looks == test.ready {
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
