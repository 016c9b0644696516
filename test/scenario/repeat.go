package scenario

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// defaultTimeout is how long "eventually" tries where the script does not say.
	defaultTimeout = 30 * time.Second
	// interval between two attempts. An attempt may start kubectl (see get), which
	// costs a tenth of a second of processor time.
	interval = 200 * time.Millisecond
	// stillWaiting is how often a long wait says what it waits for.
	stillWaiting = 15 * time.Second
)

// A repeat says how a chain of calls is repeated: until it succeeds, or for as
// long as it must hold.
type repeat struct {
	until bool
	limit time.Duration
}

// run repeats attempt; waiting is told every while for how long, and why.
func (p *repeat) run(ctx context.Context, attempt func(context.Context) error, waiting func(time.Duration, error)) error {
	if p.until {
		return p.eventually(ctx, attempt, waiting)
	}
	return p.steadily(ctx, attempt)
}

func (p *repeat) eventually(ctx context.Context, attempt func(context.Context) error, waiting func(time.Duration, error)) error {
	began := time.Now()
	limited, cancel := context.WithTimeout(ctx, p.limit)
	defer cancel()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	said := began
	var last error
	for attempts := 1; ; attempts++ {
		err := attempt(limited)
		if err == nil || isUsage(err) {
			return err
		}
		// What was cut short by the limit says less than what came before it.
		if last == nil || limited.Err() == nil {
			last = err
		}
		if time.Since(said) > stillWaiting {
			said = time.Now()
			waiting(time.Since(began), last)
		}
		select {
		case <-ticker.C:
		case <-limited.Done():
		}
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), last)
		}
		if limited.Err() != nil {
			return fmt.Errorf("gave up after %v and %d attempts: %w", p.limit, attempts, last)
		}
	}
}

func (p *repeat) steadily(ctx context.Context, attempt func(context.Context) error) error {
	began := time.Now()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for attempts := 1; ; attempts++ {
		if err := attempt(ctx); err != nil {
			return fmt.Errorf("did not hold after %.1f s, attempt %d: %w", time.Since(began).Seconds(), attempts, err)
		}
		if time.Since(began) >= p.limit {
			return nil
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}
