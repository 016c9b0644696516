package member

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/epoch"
)

// renewal is one write of the heartbeat.
type renewal struct {
	at     time.Time
	holder string
}

// renewed is a broker that notes when the heartbeat was written.
type renewed struct {
	client.WithWatch
	mu  sync.Mutex
	all []renewal
}

func newRenewed() *renewed {
	r := &renewed{}
	note := func(o client.Object, err error) error {
		if lease, ok := o.(*coordinationv1.Lease); ok && err == nil {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.all = append(r.all, renewal{time.Now(), *lease.Spec.HolderIdentity})
		}
		return err
	}
	r.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(broker.Scheme()).Build(), interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return note(o, c.Create(ctx, o, opts...))
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return note(o, c.Update(ctx, o, opts...))
		},
	})
	return r
}

// since returns what was written since the last time.
func (r *renewed) since() []renewal {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := r.all
	r.all = nil
	return all
}

// replica starts an agent's replica, which stop ends.
func (r *renewed) replica(t *testing.T, name string) (c *Controller, stop func()) {
	log := slog.New(slog.DiscardHandler)
	e := broker.NewEpoch(r, "set", "c1", epoch.Memory{}, log)
	c = NewController(r, "set", brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "uid"}, name, 40*time.Second, e, log)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- c.Start(ctx) }()
	return c, func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
}

// longest is the longest time between two of the renewals, and from a time until the first.
func longest(from time.Time, renewals []renewal) (d time.Duration) {
	for _, r := range renewals {
		d = max(d, r.at.Sub(from))
		from = r.at
	}
	return d
}

// One heartbeat is renewed once in an interval, by whichever replica finds that it is time: with two replicas as often as with
// one. Where the one that has done it ends, another does so before it is missed.
//
// Pitfall 29.
func TestReplicasShareAHeartbeat(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			const interval, latest = 10 * time.Second, 11 * time.Second
			r := newRenewed()
			began := time.Now()
			_, stopFirst := r.replica(t, "first")
			<-time.After(rand.N(2 * interval))
			_, stopSecond := r.replica(t, "second")
			stop := map[string]func(){"first": stopFirst, "second": stopSecond}
			<-time.After(10 * time.Minute)
			synctest.Wait()
			all := r.since()
			// One more when each replica starts.
			if n := len(all); n > 63 || longest(began, all) > latest {
				t.Errorf("renewed %d times in ten minutes, with %v in between", n, longest(began, all))
			}
			last := all[len(all)-1]
			stop[last.holder]()
			delete(stop, last.holder)
			<-time.After(2 * time.Minute)
			synctest.Wait()
			left := r.since()
			if d := longest(last.at, left); d > 2*latest || len(left) < 8 {
				t.Errorf("after a replica has ended, renewed %d times in two minutes, the next time after %v", len(left), d)
			}
			if longest(left[0].at, left) > latest {
				t.Errorf("the replica that is left renews it only every %v", longest(left[0].at, left))
			}
			for _, end := range stop {
				end()
			}
		})
	}
}

// What has to come back through the broker is written, whoever else has renewed it.
func TestRenewedAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRenewed()
		first, stopFirst := r.replica(t, "first")
		<-time.After(time.Second)
		second, stopSecond := r.replica(t, "second")
		<-time.After(time.Minute)
		for range 3 {
			for name, c := range map[string]*Controller{"first": first, "second": second} {
				r.since()
				c.Renew()
				synctest.Wait()
				if now := r.since(); len(now) != 1 || now[0].holder != name {
					t.Errorf("asked of the %s replica, the heartbeat was renewed by %v", name, now)
				}
			}
		}
		stopFirst()
		stopSecond()
	})
}
