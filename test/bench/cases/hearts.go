package cases

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	entry "github.com/atoll-mcs/atoll/internal/controllers/member"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/simulation"
)

const (
	// replicas is how many agents atoll join installs in a cluster.
	replicas = 2
	// leaseTimeout is the agents' default, and interval how often they renew heartbeats by that.
	leaseTimeout = 40 * time.Second
	interval     = leaseTimeout / 4
	// heartPrefix begins the ids of members of which there is nothing but hearts.
	heartPrefix = "heart"
)

// heart is a replica of a member's agent, of which there is nothing but what it does for heartbeats. Each has a
// connection of its own.
type heart struct {
	id     names.ClusterID
	holder string
	client client.WithWatch
}

// hearts are many. Those of members that have been made stay for larger numbers of them.
type hearts struct {
	broker simulation.Broker
	all    []heart
}

// grow has there be n members.
func (h *hearts) grow(ctx context.Context, n int) error {
	var numbers []int
	for i := len(h.all) / replicas; i < n; i++ {
		numbers = append(numbers, i)
	}
	var mu sync.Mutex
	return bed.Each(ctx, numbers, func(ctx context.Context, i int) error {
		id := names.ClusterID(fmt.Sprintf("%s%d", heartPrefix, i))
		for r := range replicas {
			config, err := h.broker.Invite(ctx, id)
			if err != nil {
				return err
			}
			c, err := broker.Connect(config, nil)
			if err != nil {
				return err
			}
			mu.Lock()
			h.all = append(h.all, heart{id, fmt.Sprintf("atoll-agent-%s-%d", id, r), c})
			mu.Unlock()
			if r > 0 {
				continue
			}
			// While nobody watches: that others join is not what is measured.
			member := &brokerv1alpha1.MemberCluster{ObjectMeta: entryOf(id), Spec: specOf(id)}
			if err := errors.Join(c.Create(ctx, member), c.Create(ctx, &coordinationv1.Lease{ObjectMeta: entryOf(id)})); err != nil {
				return fmt.Errorf("joining as %s: %w", id, err)
			}
		}
		return nil
	})
}

// beat has members' hearts do something until the function that is returned is called: at first each at another moment.
func (h *hearts) beat(ctx context.Context, do func(context.Context, heart) error) (stop func() error) {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, len(h.all))
	for i, one := range h.all {
		go func() {
			if bed.Pause(ctx, interval*time.Duration(i)/time.Duration(len(h.all))) != nil {
				failed <- nil
				return
			}
			failed <- do(ctx, one)
		}()
	}
	return func() (err error) {
		cancel()
		for range h.all {
			err = errors.Join(err, <-failed)
		}
		return err
	}
}

// entryOf and specOf are what a member says of itself.
func entryOf(id names.ClusterID) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: broker.DefaultNamespace, Name: id.String(), Labels: map[string]string{names.LabelSourceCluster: id.String()},
	}
}

func specOf(id names.ClusterID) brokerv1alpha1.MemberClusterSpec {
	return brokerv1alpha1.MemberClusterSpec{
		ClusterID: id.String(), ClusterUID: id.String(), KubernetesVersion: "v1", AgentVersion: "v1", AdvertiseMode: brokerv1alpha1.AdvertisePods,
	}
}

// reads is what agents do.
func reads(ctx context.Context, h heart) error {
	log := slog.New(slog.DiscardHandler)
	e := broker.NewEpoch(h.client, broker.DefaultNamespace, h.id, epoch.Memory{}, log)
	go e.Start(ctx)
	go func() { _ = broker.NewHeartbeats(h.client, e, leaseTimeout).Start(ctx) }()
	return entry.NewController(h.client, broker.DefaultNamespace, specOf(h.id), h.holder, leaseTimeout, e, log).Start(ctx)
}

// watches is what is compared with that: each replica renews the heartbeat, and watches all.
func watches(ctx context.Context, h heart) error {
	copies := informers.New(h.client, &coordinationv1.LeaseList{}, &coordinationv1.Lease{}, nil,
		client.InNamespace(broker.DefaultNamespace), client.HasLabels{names.LabelSourceCluster})
	go copies.RunWithContext(ctx)
	for {
		if err := h.renew(ctx); err != nil && ctx.Err() == nil {
			return fmt.Errorf("renewing a heartbeat: %w", err)
		}
		if bed.Pause(ctx, wait.Jitter(interval, 0.1)) != nil {
			return nil
		}
	}
}

func (h heart) renew(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	if err := h.client.Get(ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: h.id.String()}, lease); err != nil {
		return err
	}
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &h.holder, LeaseDurationSeconds: ptr.To(int32(leaseTimeout / time.Second)), RenewTime: ptr.To(metav1.NowMicro())}
	err := h.client.Update(ctx, lease)
	if apierrors.IsConflict(err) {
		return nil // the other replica has renewed it
	}
	return err
}
