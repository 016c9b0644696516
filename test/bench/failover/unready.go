package failover

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// lastLocal measures how long requests fail when the only endpoint of the preferred cluster fails, beside kube-proxy's time for
// a Service of one cluster of which one of two endpoints fails.
func (b *bench) lastLocal(ctx context.Context, c *figure.Case) error {
	err := errors.Join(
		b.create(ctx, preferred, near, 0, 1, true), b.create(ctx, preferred, other, 0, 1, true), b.create(ctx, plain, near, 1, 3, false), b.create(ctx, another, near, 3, 5, false),
		b.prefer(ctx, near, preferred, local()), b.prefer(ctx, other, preferred, local()))
	if err != nil {
		return err
	}
	all, stop, err := b.sendAll(ctx, preferred)
	if err != nil {
		return err
	}
	defer stop()
	address, err := b.serviceIP(ctx, plain, near)
	if err != nil {
		return err
	}
	bare, err := b.send(near, address)
	if err != nil {
		return err
	}
	defer bare.process.Stop()
	if _, err := settleAll(ctx, all[:1], time.Now(), calm, time.Minute, func(r request) bool { return r.by != near }); err != nil {
		return err
	}
	began := time.Now()
	var floor, busy, took []time.Duration
	for range b.Blocks * min(b.Rounds, 7) {
		d, err := b.failFirst(ctx, plain, 1, 3, bare)
		if err != nil {
			return fmt.Errorf("the floor: %w", err)
		}
		floor = append(floor, d)
		if d, err = b.failSecond(ctx, bare); err != nil {
			return fmt.Errorf("kube-proxy after another change: %w", err)
		}
		busy = append(busy, d)
		if d, err = b.failFirst(ctx, preferred, 0, 1, all[0]); err != nil {
			return err
		}
		took = append(took, d)
	}
	lost, sent, err := b.lost(ctx, all[1:], began)
	if err != nil {
		return err
	}
	c.Add(figure.Times("last local endpoint unready, until < 1 % of requests fail", figure.Milliseconds, took, floor).AtMostAboveFloor(100).
		Because("kube-proxy's pause between two updates (minSyncPeriod, 250 ms here, 1 s by default) begins with the cluster's own Service, which changes just before"),
		figure.Times("kube-proxy alone, 20 ms after another Service's change", figure.Milliseconds, busy, floor),
		figure.Once(fmt.Sprintf("lost meanwhile by the other cluster's client, of %d", sent), "requests", float64(lost)).Exactly(0))
	return nil
}

// failFirst stops the first endpoint of a service in near and writes that it is not ready, both at once, and returns how long
// requests failed. Then it restores the endpoint.
func (b *bench) failFirst(ctx context.Context, service string, from, to int, t *traffic) (time.Duration, error) {
	if err := b.jitter(ctx); err != nil {
		return 0, err
	}
	return b.failNow(ctx, service, from, to, t)
}

func (b *bench) failNow(ctx context.Context, service string, from, to int, t *traffic) (time.Duration, error) {
	first, err := b.address(near, from)
	if err != nil {
		return 0, err
	}
	unready, err := b.slice(service, near, from, to, false)
	if err != nil {
		return 0, err
	}
	ready, err := b.slice(service, near, from, to, true)
	if err != nil {
		return 0, err
	}
	began := time.Now()
	for _, s := range b.servers {
		if strings.HasPrefix(s.listener.Addr().String(), first.String()+":") {
			s.stop()
		}
	}
	if err := b.on[near].Update(ctx, unready); err != nil {
		return 0, err
	}
	took, err := t.settle(ctx, began, calm, 20*time.Second, failed)
	if err != nil {
		return 0, err
	}
	if _, err := b.serve(ctx, near, from); err != nil {
		return 0, err
	}
	restored := time.Now()
	if err := b.on[near].Update(ctx, ready); err != nil {
		return 0, err
	}
	_, err = t.settle(ctx, restored, calm, 20*time.Second, func(r request) bool { return r.by != near })
	return took, err
}

// failSecond is failFirst for the plain Service, just after another Service of the cluster changed.
func (b *bench) failSecond(ctx context.Context, t *traffic) (time.Duration, error) {
	for _, ready := range []bool{true, false} {
		slice, err := b.slice(another, near, 3, 5, ready)
		if err != nil {
			return 0, err
		}
		if err := b.on[near].Update(ctx, slice); err != nil {
			return 0, err
		}
		if ready {
			err = bed.Pause(ctx, calm)
		} else {
			err = bed.Pause(ctx, 20*time.Millisecond)
		}
		if err != nil {
			return 0, err
		}
	}
	return b.failNow(ctx, plain, 1, 3, t)
}

// jitter waits for up to the shortest pause between two runs of kube-proxy, so that measurements begin at any point of it.
func (b *bench) jitter(ctx context.Context) error {
	return bed.Pause(ctx, rand.N(300*time.Millisecond))
}

// serviceIP returns the address of a Service of one cluster.
func (b *bench) serviceIP(ctx context.Context, service, cluster string) (string, error) {
	s := bed.Service{Namespace: namespace, Name: service}.Object()
	if err := b.on[cluster].Get(ctx, client.ObjectKeyFromObject(s), s); err != nil {
		return "", err
	}
	return s.Spec.ClusterIP + ":80", nil
}
