package failover

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// cuts cuts the victim off from everything, with the broker and without.
func (b *bench) cuts(ctx context.Context, c *figure.Case) error {
	if err := errors.Join(b.create(ctx, cutOff, other, 1, 3, true), b.create(ctx, cutOff, victim, 1, 3, true)); err != nil {
		return err
	}
	all, stop, err := b.sendAll(ctx, cutOff)
	if err != nil {
		return err
	}
	defer stop()
	// Agents need some time for evidence that endpoints answer.
	if err := errors.Join(until(ctx, all, time.Now(), victim, time.Minute), bed.Pause(ctx, 30*time.Second)); err != nil {
		return err
	}
	rounds := max(1, int(2*b.Scale))
	took := map[bool][]time.Duration{}
	for round := range rounds {
		for _, alive := range []bool{true, false} {
			each, err := b.cut(ctx, all, alive)
			if err != nil {
				return err
			}
			took[alive] = append(took[alive], each...)
			b.Say("failover: requests failed for %v, broker alive: %t", each, alive)
			if last := round == rounds-1 && !alive; last {
				continue
			}
			// A silence lasts 30 s at least, and longer each time.
			if err := until(ctx, all, time.Now(), victim, 5*time.Minute); err != nil {
				return err
			}
			if err := bed.Pause(ctx, 30*time.Second); err != nil {
				return err
			}
		}
	}
	c.Add(figure.Times("a cluster cut off, until < 1 % fail, broker alive", figure.Seconds, took[true], nil).P99AtMost(20),
		figure.Times("a cluster and the broker cut off, until < 1 % fail", figure.Seconds, took[false], nil).P99AtMost(20))
	return nil
}

// ofVictim are the connections of the victim.
var ofVictim = []lab.Pair{{victim, near}, {victim, other}, {victim, lab.Broker}}

func (b *bench) cutPairs(ctx context.Context, pairs []lab.Pair) error {
	for _, p := range pairs {
		if err := b.lab.Cut(ctx, p[0], p[1]); err != nil {
			return err
		}
	}
	return nil
}

// cut cuts the victim off, and the broker too unless it is alive, until no request fails, and heals both.
func (b *bench) cut(ctx context.Context, all []*traffic, alive bool) (took []time.Duration, err error) {
	pairs := slices.Clone(ofVictim)
	if !alive {
		pairs = append(pairs, lab.Pair{near, lab.Broker}, lab.Pair{other, lab.Broker})
	}
	began := time.Now()
	if err := b.cutPairs(ctx, pairs); err != nil {
		return nil, err
	}
	took, err = settleAll(ctx, all, began, requestTimeout+calm, 2*time.Minute, failed)
	return took, errors.Join(err, b.lab.HealAll(ctx))
}
