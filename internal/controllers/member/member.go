// Package member keeps this cluster's own entry on the broker: its MemberCluster and
// its heartbeat.
package member

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/membership"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// renewals is how often a heartbeat is renewed within the time after which the others
	// miss it.
	renewals = 4
	// answerTimeout is how long the broker is waited for before an agent begins its work.
	answerTimeout = 10 * time.Second
)

// Controller keeps the entry. Every replica of an agent looks after the heartbeat, leader or
// not: a change of leaders must not look like the cluster's loss. It is renewed by one that finds that no
// other has done so since it last looked.
type Controller struct {
	// Now is the clock by which the entry says when something was. Others do not compare it with theirs.
	Now func() time.Time
	// Registered, unless nil, is called whenever the broker shows that the cluster id is this cluster's.
	Registered func()
	// Pods returns which ranges of pods the entry is to have, where it has the given ones; nil for none.
	Pods func(published []string) []string
	// OverBudget returns the members that the entry should name as over this cluster's budget, where it names the given ones; nil
	// leaves these. It is asked at each renewal. A cut-off seen by many members at once does not make all of them write at once.
	OverBudget func(published []brokerv1alpha1.OverBudget) []brokerv1alpha1.OverBudget

	broker    client.Client
	namespace string
	spec      brokerv1alpha1.MemberClusterSpec
	holder    string
	timeout   time.Duration
	epoch     *broker.Epoch
	log       *slog.Logger
	now       chan struct{}

	mu sync.Mutex
	// made is the statement that this replica has made last, nil for none.
	made *brokerv1alpha1.Publication

	// renewed is when the heartbeat was last renewed, as it says itself, when this replica looked last; nil where it
	// has not. It is Start's.
	renewed *metav1.MicroTime
}

// NewController returns a controller that writes spec to the broker's namespace. holder
// names this replica, and timeout is how long the heartbeat may be missing until the
// others take the cluster for lost. What is read of the own entry, epoch is told.
func NewController(c client.Client, namespace string, spec brokerv1alpha1.MemberClusterSpec, holder string, timeout time.Duration, epoch *broker.Epoch, log *slog.Logger) *Controller {
	m := &Controller{Now: time.Now, broker: c, namespace: namespace, spec: spec, holder: holder, timeout: timeout, epoch: epoch, log: log, now: make(chan struct{}, 1)}
	epoch.OnBack(m.Renew)
	epoch.OnOwnMember(func() {
		// Two replicas of different versions say different things, which must not become a race.
		have := m.own()
		if have != nil && m.conflict(have) == nil && m.Registered != nil {
			m.Registered()
		}
		if have == nil || m.conflict(have) != nil || m.want(have).Published != have.Spec.Published {
			m.Renew()
		}
	})
	return m
}

// NeedLeaderElection makes the controller run on every replica.
func (c *Controller) NeedLeaderElection() bool { return false }

// Start keeps the entry until ctx is done. A broker that can't be reached is tried again
// at the next renewal. When the broker says that the id is another cluster's, it returns that
// as a membership.TakenError: this cluster must not go on.
func (c *Controller) Start(ctx context.Context) error {
	interval := c.timeout / renewals
	for now := true; ; {
		limited, cancel := context.WithTimeout(ctx, interval)
		err := c.renew(limited, now)
		cancel()
		var taken *membership.TakenError
		if errors.As(err, &taken) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			c.log.Warn("renewing the membership failed, will try again", "error", err)
		}
		timer := time.NewTimer(wait.Jitter(interval, 0.1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
			now = false
		case <-c.now:
			timer.Stop()
			now = true
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

// State has the entry say that all is published that the cluster exports, in the namespace
// of a UID, where the broker's data was seen up to a version.
func (c *Controller) State(place, version string) {
	now := c.Now().Truncate(time.Microsecond)
	have := c.own()
	c.mu.Lock()
	for _, last := range []*brokerv1alpha1.Publication{c.made, published(have)} {
		if last != nil && !now.After(last.At.Time) {
			now = last.At.Add(time.Microsecond)
		}
	}
	if asked := time.UnixMicro(c.epoch.AskedLater()); !now.After(asked) {
		now = asked.Add(time.Microsecond)
	}
	c.made = &brokerv1alpha1.Publication{Namespace: place, At: metav1.NewMicroTime(now), ResourceVersion: version}
	c.mu.Unlock()
	c.Renew()
}

// own is the entry as the copy has it, nil where it is not there or not known.
func (c *Controller) own() *brokerv1alpha1.MemberCluster {
	return c.epoch.Member(names.ClusterID(c.spec.ClusterID))
}

// want is what an entry should say. Of statements, that is the last one: another replica may have
// made it, or an older one may have dropped it.
func (c *Controller) want(have *brokerv1alpha1.MemberCluster) *brokerv1alpha1.MemberClusterSpec {
	var now brokerv1alpha1.MemberClusterSpec
	if have != nil {
		now = have.Spec
	}
	want := c.spec
	want.Published, want.OverBudget = now.Published, now.OverBudget
	if c.Pods != nil {
		want.PodCIDRs = c.Pods(now.PodCIDRs)
	}
	if c.OverBudget != nil {
		want.OverBudget = c.OverBudget(now.OverBudget)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.made != nil && (want.Published == nil || c.made.At.After(want.Published.At.Time)) {
		want.Published = c.made
	}
	return &want
}

// published is an entry's statement, or nil.
func published(m *brokerv1alpha1.MemberCluster) *brokerv1alpha1.Publication {
	if m == nil {
		return nil
	}
	return m.Spec.Published
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
	return &membership.TakenError{ID: c.spec.ClusterID, Owner: have.Spec.ClusterUID, Self: c.spec.ClusterUID}
}

// renew looks after the entry. The heartbeat is renewed now, or where no other replica has done so.
func (c *Controller) renew(ctx context.Context, now bool) error {
	defer c.epoch.Beaten()
	if err := c.applyMember(ctx); err != nil {
		return err
	}
	return c.applyLease(ctx, now)
}

func (c *Controller) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: c.namespace,
		Name:      c.spec.ClusterID,
		Labels:    map[string]string{names.LabelSourceCluster: c.spec.ClusterID},
	}
}

// applyMember writes the MemberCluster where it is absent or outdated. What it is like, the copy
// tells, or where there is none yet, the broker.
func (c *Controller) applyMember(ctx context.Context) error {
	before, have := c.epoch.Beat(), c.own()
	if !c.epoch.MembersSynced() {
		have = &brokerv1alpha1.MemberCluster{}
		err := c.broker.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.spec.ClusterID}, have)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading the MemberCluster: %w", err)
		}
		if err != nil {
			have = nil
		}
	}
	want := c.want(have)
	var err error
	switch {
	case have == nil:
		err = c.broker.Create(ctx, &brokerv1alpha1.MemberCluster{ObjectMeta: c.meta(), Spec: *want})
	case c.conflict(have) != nil:
		return c.conflict(have)
	case !equality.Semantic.DeepEqual(have.Spec, *want):
		updated := have.DeepCopy()
		updated.Spec = *want
		err = c.broker.Update(ctx, updated)
	}
	if have != nil && apierrors.IsConflict(err) {
		return c.epoch.Outran(ctx, before, have)
	}
	// Otherwise the copy is about to show what it is like, and then it is looked at again.
	if err != nil && !apierrors.IsAlreadyExists(err) && (!apierrors.IsNotFound(err) || have == nil) {
		return fmt.Errorf("writing the MemberCluster: %w", err)
	}
	return nil
}

// applyLease renews the heartbeat, if another replica has not done so since this one looked last and it need not be now.
func (c *Controller) applyLease(ctx context.Context, now bool) error {
	lease := &coordinationv1.Lease{}
	before := c.epoch.Beat()
	err := c.broker.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: c.spec.ClusterID}, lease)
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &c.holder,
		// For people: members judge by their own clocks.
		LeaseDurationSeconds: ptr.To(max(1, int32(c.timeout/time.Second))),
		RenewTime:            ptr.To(metav1.NewMicroTime(c.Now().Truncate(time.Microsecond))), // as it is stored
	}
	switch {
	case apierrors.IsNotFound(err):
		lease = &coordinationv1.Lease{ObjectMeta: c.meta(), Spec: spec}
		err = c.broker.Create(ctx, lease)
	case err == nil:
		var tell bool
		if tell, err = c.epoch.Found(ctx, before, lease); err != nil {
			return err
		}
		said := lease.Annotations[names.AnnotationAwaits]
		asks := c.epoch.Asks(said, c.timeout)
		if tell { // other replicas can't find it any more when this one has renewed it
			metav1.SetMetaDataAnnotation(&lease.ObjectMeta, names.AnnotationRestored, spec.RenewTime.Format(time.RFC3339Nano))
		} else if found := lease.Spec.RenewTime; !now && asks == said && c.renewed != nil && !c.renewed.Equal(found) {
			c.renewed = found
			return nil
		}
		if asks == "" {
			delete(lease.Annotations, names.AnnotationAwaits)
		} else {
			metav1.SetMetaDataAnnotation(&lease.ObjectMeta, names.AnnotationAwaits, asks)
		}
		lease.Spec, before = spec, c.epoch.Beat()
		err = c.broker.Update(ctx, lease)
	}
	if err == nil {
		c.epoch.Renewed(before, lease)
		c.renewed = lease.Spec.RenewTime
		return nil
	}
	// Another replica's renewal is as good as this one's.
	if !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("renewing the heartbeat: %w", err)
	}
	return nil
}
