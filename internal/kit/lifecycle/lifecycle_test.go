package lifecycle

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// Terms follow each other after growing pauses, until the program ends. After a long term the
// next term starts at once.
func TestTerms(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var began []time.Duration
		start, asked := time.Now(), 0
		served := func(context.Context) error {
			if asked++; asked == 1 {
				return errors.New("not there yet")
			}
			return nil
		}
		Terms(ctx, slog.New(slog.DiscardHandler), "waiting", served, func(context.Context) error {
			began = append(began, time.Since(start))
			switch len(began) {
			case 3:
				sleep(ctx, 2*longTerm)
			case 4:
				cancel()
			}
			return errors.New("the lease was lost")
		})
		want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 125 * time.Second}
		if len(began) != len(want) {
			t.Fatalf("terms began after %v, want %v", began, want)
		}
		for i := range want {
			if began[i] != want[i] {
				t.Errorf("terms began after %v, want %v", began, want)
			}
		}
	})
}
