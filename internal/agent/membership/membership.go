// Package membership writes this cluster's MemberCluster and heartbeat to the broker.
package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// renewals is how often a heartbeat is renewed per timeout.
const renewals = 8

// TakenError says that a cluster id belongs to another cluster.
type TakenError struct{ ID, Clusterset, Owner, Self string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("cluster id %q belongs to another cluster. That cluster's kube-system namespace has UID %s, but this cluster's has UID %s. "+
		"Until this cluster has its own id, it exports and imports no new services or changes. To give this cluster another id, leave the clusterset, then join with a join file for the new id: %s and %s. "+
		"If the other cluster no longer exists, remove it and everything that it exports: %s",
		e.ID, e.Owner, e.Self, command.Here.Atoll("leave"), command.Here.Atoll("join FILE"), command.Broker.Atoll("broker members remove %s --clusterset %s", e.ID, e.Clusterset))
}

// New returns a membership for the caller to fill in.
func New() *Membership {
	return &Membership{now: make(chan struct{}, 1), turn: make(chan struct{}, 1), Restored: func() {}}
}

// Membership keeps the entry. Every replica renews the heartbeat, because a change of leaders must not look like a lost
// cluster.
type Membership struct {
	// Broker reads and writes the broker without a cache.
	Broker client.Client
	// Namespace is the clusterset's on the broker.
	Namespace string
	// Facts are the entry's contents. Pods returns the entry's pod ranges, given the published ones.
	Facts brokerv1alpha1.MemberClusterSpec
	Pods  func(published []string) []string
	// Properties returns the cluster's properties that the entry lists, given the published ones.
	Properties func(published map[string]brokerv1alpha1.PropertyValue) map[string]brokerv1alpha1.PropertyValue
	// OverBudget returns the members that the entry lists as over this cluster's budget, given the published ones.
	OverBudget func(published []string) []string
	// Isolation returns what the entry says about the broker's isolation of members, given what it says.
	Isolation func(published brokerv1alpha1.Isolation) brokerv1alpha1.Isolation
	// FollowsDrains returns which drains the heartbeat says that this cluster follows, given what it says.
	FollowsDrains func(published string) string
	// Holder names this replica. After Timeout without a heartbeat, other members consider the cluster lost.
	Holder  string
	Timeout time.Duration
	// Placed is called whenever the broker confirms that the cluster id belongs to this cluster.
	Placed func()
	// Heartbeats receives all members' Leases after each renewal, and the time when the read began.
	Heartbeats func(time.Time, []coordinationv1.Lease)
	// Restored is called when this cluster's heartbeat is gone or older than before: the broker was wiped or restored.
	Restored func()
	// Now is the clock for the heartbeat's renewal time. Other members do not compare it with their clocks.
	Now func() time.Time
	Log *slog.Logger

	now    chan struct{}
	placed bool // the entry has been as it should be

	turn chan struct{} // full while the heartbeat is read and written, so that last is the newest
	last layout.Mark   // as last seen
	// missing is set if the heartbeat was missing when it was last read.
	missing bool
	// renewed is the heartbeat's content when this replica last wanted to renew it, or nil.
	renewed *metav1.MicroTime
}

// Renew requests an immediate renewal of the entry and of the heartbeat.
func (m *Membership) Renew() {
	select {
	case m.now <- struct{}{}:
	default: // already requested
	}
}

// Run keeps the entry until ctx is done. It returns a TakenError if the cluster id belongs to another cluster.
func (m *Membership) Run(ctx context.Context) error {
	interval := m.Timeout / renewals
	for requested := false; ; {
		limited, cancel := context.WithTimeout(ctx, interval)
		err := m.renew(limited, requested)
		cancel()
		if taken := (*TakenError)(nil); errors.As(err, &taken) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("Failed to renew the membership. The agent retries", "error", err)
		}
		timer := time.NewTimer(wait.Jitter(interval, 0.1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
			requested = false
		case <-m.now:
			timer.Stop()
			requested = true
		}
	}
}

// Check returns a TakenError if the cluster id belongs to another cluster. It ignores an unreachable broker.
func (m *Membership) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, m.Timeout/renewals)
	defer cancel()
	have := &brokerv1alpha1.MemberCluster{}
	if err := m.Broker.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Facts.ClusterID}, have); err != nil {
		return nil
	}
	return m.conflict(have)
}

func (m *Membership) conflict(have *brokerv1alpha1.MemberCluster) error {
	if have.Spec.ClusterUID == m.Facts.ClusterUID || have.Removed() {
		return nil
	}
	return &TakenError{m.Facts.ClusterID, m.Namespace, have.Spec.ClusterUID, m.Facts.ClusterUID}
}

// renew renews the heartbeat, then the entry: a heartbeat must not wait for it. The first heartbeat follows the entry, because the id
// may belong to another cluster.
func (m *Membership) renew(ctx context.Context, requested bool) error {
	if !m.placed {
		if err := m.place(ctx); err != nil {
			return err
		}
		return m.renewLease(ctx, requested)
	}
	return errors.Join(m.renewLease(ctx, requested), m.place(ctx))
}

func (m *Membership) place(ctx context.Context) error {
	err := m.applyEntry(ctx)
	if err == nil {
		m.placed = true
		m.Placed()
	}
	return err
}

func (m *Membership) renewLease(ctx context.Context, requested bool) error {
	own, err := m.applyLease(ctx, requested)
	if err != nil {
		return fmt.Errorf("renewing the heartbeat: %w", err)
	}
	leases, began := &coordinationv1.LeaseList{}, time.Now()
	// The API server serves this from its cache, at least as new as this cluster's renewal.
	if err := m.Broker.List(ctx, leases, client.InNamespace(m.Namespace), client.HasLabels{names.LabelSourceCluster},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: own}}); err != nil {
		return fmt.Errorf("reading the heartbeats of all members: %w", err)
	}
	m.Heartbeats(began, leases.Items)
	return nil
}

func (m *Membership) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: m.Namespace, Name: m.Facts.ClusterID, Labels: map[string]string{names.LabelSourceCluster: m.Facts.ClusterID},
	}
}

func (m *Membership) applyEntry(ctx context.Context) error {
	have := &brokerv1alpha1.MemberCluster{ObjectMeta: m.meta()}
	err := m.Broker.Get(ctx, client.ObjectKeyFromObject(have), have)
	if client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("reading the MemberCluster: %w", err)
	}
	want := m.Facts
	want.OverBudget, want.Properties = have.Spec.OverBudget, have.Spec.Properties
	if m.Properties != nil {
		want.Properties = m.Properties(have.Spec.Properties)
	}
	if m.OverBudget != nil {
		want.OverBudget = m.OverBudget(have.Spec.OverBudget)
	}
	if want.Isolation = have.Spec.Isolation; m.Isolation != nil {
		want.Isolation = m.Isolation(want.Isolation)
	}
	if m.Pods != nil {
		want.PodCIDRs = m.Pods(have.Spec.PodCIDRs)
	}
	switch {
	case err != nil:
		err = m.Broker.Create(ctx, &brokerv1alpha1.MemberCluster{ObjectMeta: m.meta(), Spec: want})
	case m.conflict(have) != nil:
		return m.conflict(have)
	case !equality.Semantic.DeepEqual(have.Spec, want):
		have.Spec = want
		err = m.Broker.Update(ctx, have)
	}
	if err != nil && !overtaken(err) {
		return fmt.Errorf("writing the MemberCluster: %w", err)
	}
	return nil
}

// applyLease renews the heartbeat. It returns the write's resource version, or "" if another replica was faster.
// Without asked, it skips the write if another replica renewed the heartbeat since this one's last attempt.
func (m *Membership) applyLease(ctx context.Context, requested bool) (version string, _ error) {
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	defer m.end()
	lease := &coordinationv1.Lease{ObjectMeta: m.meta()}
	err := m.Broker.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	wasMissing := m.missing
	m.notice(lease)
	now, before := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}), m.renewed
	annotations := m.annotations(lease)
	requested = requested || !maps.Equal(annotations, lease.Annotations)
	if m.renewed = &now; err == nil && !requested && before != nil && !now.Equal(before) && ptr.Deref(lease.Spec.HolderIdentity, "") != m.Holder {
		return lease.ResourceVersion, nil
	}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &m.Holder,
		// For people: members use their own clocks.
		LeaseDurationSeconds: ptr.To(max(1, int32(m.Timeout/time.Second))),
		RenewTime:            ptr.To(metav1.NewMicroTime(m.Now().Truncate(time.Microsecond))),
	}
	lease.Annotations = annotations
	if err != nil {
		lease = &coordinationv1.Lease{ObjectMeta: m.meta(), Spec: lease.Spec}
		if err = m.Broker.Create(ctx, lease); err == nil {
			m.last = layout.MarkOf(lease) // a new Lease: notice has already handled the old one's loss
			if m.missing = false; wasMissing {
				m.Restored() // without a Lease nobody can tell whether the broker was wiped again meanwhile
			}
		}
	} else if err = m.Broker.Update(ctx, lease); err == nil {
		m.notice(lease)
	}
	if overtaken(err) {
		return "", nil
	}
	return lease.ResourceVersion, err
}

// annotations returns what the heartbeat is to say besides.
func (m *Membership) annotations(lease *coordinationv1.Lease) map[string]string {
	published := lease.Annotations[names.AnnotationFollowsDrains]
	if m.FollowsDrains == nil {
		return lease.Annotations
	}
	follows := m.FollowsDrains(published)
	if follows == published {
		return lease.Annotations
	}
	all := maps.Clone(lease.Annotations)
	if all == nil {
		all = map[string]string{}
	}
	if delete(all, names.AnnotationFollowsDrains); follows != "" {
		all[names.AnnotationFollowsDrains] = follows
	}
	return all
}

// begin waits until no goroutine reads or writes the heartbeat.
func (m *Membership) begin(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Membership) end() { <-m.turn }

// notice calls Restored if this cluster's heartbeat is gone (no UID), replaced or older. Call it between begin and end.
func (m *Membership) notice(lease *coordinationv1.Lease) {
	now, last := layout.MarkOf(lease), m.last
	m.missing = lease.UID == ""
	if m.last = now; !last.IsReached(now) {
		m.Log.Warn("Detected that the broker may have been wiped or restored, because this cluster's heartbeat on the broker is not the last heartbeat that the agent wrote. The agent reads and publishes all objects again")
		m.Restored()
	}
}

// Counter reads how often the broker had exactly what this cluster publishes.
func (m *Membership) Counter(ctx context.Context) (belief.Counter, error) {
	if err := m.begin(ctx); err != nil {
		return belief.Counter{}, err
	}
	defer m.end()
	lease := &coordinationv1.Lease{}
	err := m.Broker.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Facts.ClusterID}, lease)
	if client.IgnoreNotFound(err) == nil {
		m.notice(lease) // report a loss now: by the next renewal the heartbeat may be back
	}
	if err != nil {
		return belief.Counter{}, fmt.Errorf("reading the heartbeat: %w", err)
	}
	return layout.Counter(lease), nil
}

// Count increases an unchanged counter, and records refusals. Another replica may renew the heartbeat meanwhile.
func (m *Membership) Count(ctx context.Context, counter belief.Counter, refused bool) error {
	if err := m.begin(ctx); err != nil {
		return err
	}
	defer m.end()
	return retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		lease := &coordinationv1.Lease{}
		if err := m.Broker.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Facts.ClusterID}, lease); err != nil {
			return err
		}
		if layout.Counter(lease) != counter {
			return fmt.Errorf("the objects on the broker changed during the comparison")
		}
		layout.SetCount(lease, counter.Count+1, refused)
		return m.Broker.Update(ctx, lease)
	})
}

// overtaken reports whether another replica wrote at the same time, which is just as good.
func overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
