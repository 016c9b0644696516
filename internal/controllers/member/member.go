// Package member keeps this cluster's own entry on the broker: its MemberCluster and
// its heartbeat.
package member

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
)

const (
	// renewals is how often a heartbeat is renewed within the time after which the others
	// miss it.
	renewals = 4
	// answerTimeout is how long the broker is waited for before an agent begins its work.
	answerTimeout = 10 * time.Second
)

// Controller keeps the entry. Every replica of an agent renews the heartbeat, leader or
// not: a change of leaders must not look like the cluster's loss.
type Controller struct {
	broker    client.Client
	namespace string
	spec      brokerv1alpha1.MemberClusterSpec
	holder    string
	timeout   time.Duration
	log       *slog.Logger
	now       chan struct{}
}

// NewController returns a controller that writes spec to the broker's namespace. holder
// names this replica, and timeout is how long the heartbeat may be missing until the
// others take the cluster for lost.
func NewController(broker client.Client, namespace string, spec brokerv1alpha1.MemberClusterSpec, holder string, timeout time.Duration, log *slog.Logger) *Controller {
	return &Controller{broker: broker, namespace: namespace, spec: spec, holder: holder, timeout: timeout, log: log, now: make(chan struct{}, 1)}
}

// NeedLeaderElection makes the controller run on every replica.
func (c *Controller) NeedLeaderElection() bool { return false }

// Start keeps the entry until ctx is done. A broker that can't be reached is tried again
// at the next renewal.
func (c *Controller) Start(ctx context.Context) error {
	interval := c.timeout / renewals
	for {
		limited, cancel := context.WithTimeout(ctx, interval)
		err := c.renew(limited)
		cancel()
		if err != nil && ctx.Err() == nil {
			c.log.Warn("renewing the membership failed, will try again", "error", err)
		}
		timer := time.NewTimer(wait.Jitter(interval, 0.1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
		case <-c.now:
			timer.Stop()
		}
	}
}

// Renew has the heartbeat be renewed at once.
func (c *Controller) Renew() {
	select {
	case c.now <- struct{}{}:
	default: // it is about to be
	}
}

// Refused returns an error if the broker says that this cluster's id belongs to another
// cluster, which an agent must not begin to work against: it would take the other one's
// records for its own. A broker that can't be reached says nothing.
func (c *Controller) Refused(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	have := &brokerv1alpha1.MemberCluster{}
	if err := c.broker.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.spec.ClusterID}, have); err != nil {
		c.log.Info("the broker does not tell whether the cluster id is free", "error", err)
		return nil
	}
	return c.conflict(have)
}

// conflict is the error where a MemberCluster is another cluster's, else nil.
func (c *Controller) conflict(have *brokerv1alpha1.MemberCluster) error {
	if have.Spec.ClusterUID == c.spec.ClusterUID {
		return nil
	}
	return fmt.Errorf("cluster id %q belongs to another cluster already (its kube-system namespace has UID %s, this one's %s): choose another id",
		c.spec.ClusterID, have.Spec.ClusterUID, c.spec.ClusterUID)
}

func (c *Controller) renew(ctx context.Context) error {
	if err := c.applyMember(ctx); err != nil {
		return err
	}
	return c.applyLease(ctx)
}

func (c *Controller) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: c.namespace,
		Name:      c.spec.ClusterID,
		Labels:    map[string]string{names.LabelSourceCluster: c.spec.ClusterID},
	}
}

// applyMember writes the MemberCluster where it is absent or outdated.
func (c *Controller) applyMember(ctx context.Context) error {
	have := &brokerv1alpha1.MemberCluster{}
	key := client.ObjectKey{Namespace: c.namespace, Name: c.spec.ClusterID}
	err := c.broker.Get(ctx, key, have)
	switch {
	case apierrors.IsNotFound(err):
		err = c.broker.Create(ctx, &brokerv1alpha1.MemberCluster{ObjectMeta: c.meta(), Spec: c.spec})
	case err == nil && c.conflict(have) != nil:
		return c.conflict(have)
	case err == nil && !equality.Semantic.DeepEqual(have.Spec, c.spec):
		have.Spec = c.spec
		err = c.broker.Update(ctx, have)
	}
	if err != nil {
		return fmt.Errorf("writing the MemberCluster: %w", err)
	}
	return nil
}

// applyLease renews the heartbeat.
func (c *Controller) applyLease(ctx context.Context) error {
	lease := &coordinationv1.Lease{}
	key := client.ObjectKey{Namespace: c.namespace, Name: c.spec.ClusterID}
	err := c.broker.Get(ctx, key, lease)
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &c.holder,
		// For people: members judge by their own clocks.
		LeaseDurationSeconds: ptr.To(max(1, int32(c.timeout/time.Second))),
		RenewTime:            ptr.To(metav1.NowMicro()),
	}
	switch {
	case apierrors.IsNotFound(err):
		err = c.broker.Create(ctx, &coordinationv1.Lease{ObjectMeta: c.meta(), Spec: spec})
	case err == nil:
		lease.Spec = spec
		err = c.broker.Update(ctx, lease)
	}
	// Another replica's renewal is as good as this one's.
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("renewing the heartbeat: %w", err)
	}
	return nil
}
