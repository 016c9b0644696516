package failover

import (
	"context"
	"errors"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

const (
	// before and after are how long traffic is counted before and after an outage begins.
	before, after = 10 * time.Second, 60 * time.Second
	brokerServer  = lab.Broker + "/apiserver"
)

// outages counts failed requests in each second while the broker fails, the victim is drained, and the victim is cut off.
func (b *bench) outages(ctx context.Context, c *figure.Case) error {
	if err := errors.Join(b.create(ctx, drained, other, 3, 5, true), b.create(ctx, drained, victim, 3, 5, true)); err != nil {
		return err
	}
	all, stop, err := b.sendAll(ctx, drained)
	if err != nil {
		return err
	}
	defer stop()
	// Agents need some time for evidence that endpoints answer.
	if err := errors.Join(until(ctx, all, time.Now(), victim, time.Minute), bed.Pause(ctx, 30*time.Second)); err != nil {
		return err
	}
	for _, outage := range []struct {
		name       string
		begin, end func(context.Context) error
	}{
		{"broker", func(ctx context.Context) error { return b.lab.Kill(ctx, brokerServer) }, func(ctx context.Context) error { return b.lab.Start(ctx, brokerServer) }},
		{"drain", func(ctx context.Context) error { return b.drain(ctx, true) }, func(ctx context.Context) error { return b.drain(ctx, false) }},
		{"cluster", func(ctx context.Context) error { return b.cutPairs(ctx, ofVictim) }, b.lab.HealAll},
	} {
		b.Say("failover: outage of %s", outage.name)
		if err := bed.Pause(ctx, before); err != nil {
			return err
		}
		began := time.Now()
		err := errors.Join(outage.begin(ctx), bed.Pause(ctx, time.Duration(b.Scale*float64(after))+requestTimeout))
		if err := errors.Join(err, outage.end(context.WithoutCancel(ctx))); err != nil {
			return err
		}
		var requests []request
		for _, t := range all {
			requests = append(requests, t.allSince(began.Add(-before))...)
		}
		lost := figure.Once(outage.name+": requests lost", "requests", float64(count(requests, failed)))
		if outage.name != "cluster" {
			lost = lost.Exactly(0)
		}
		c.Add(lost, figure.Once(outage.name+": until < 1 % fail", figure.Seconds, leftAfter(requests, began, failed).Seconds()).AtMost(20))
		c.Series = append(c.Series, figure.Series{Name: outage.name, Samples: eachSecond(requests, began)})
	}
	return nil
}

// eachSecond counts the requests that began in each second before and after an outage began.
func eachSecond(requests []request, began time.Time) (samples []figure.Sample) {
	for second := -int(before.Seconds()); second < int(after.Seconds()); second++ {
		from := began.Add(time.Duration(second) * time.Second)
		s := figure.Sample{Second: second}
		for _, r := range requests {
			if r.at.Before(from) || !r.at.Before(from.Add(time.Second)) {
				continue
			}
			if s.Sent++; failed(r) {
				s.Failed++
			}
		}
		samples = append(samples, s)
	}
	return samples
}
