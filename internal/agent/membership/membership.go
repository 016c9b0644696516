// Package membership keeps this cluster's MemberCluster and heartbeat on the broker.
package membership

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
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

// renewals is how often a heartbeat is renewed within the time after which other members miss it.
const renewals = 4

// TakenError says that a cluster id belongs to another cluster.
type TakenError struct{ ID, Clusterset, Owner, Self string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("cluster id %q belongs to another cluster (its kube-system namespace has UID %s, this one's %s). "+
		"Until this cluster has its own id it exports and imports nothing new. To give it another id, leave, then join with a join file for that id: %s and %s. "+
		"If the other cluster no longer exists, remove it, with everything it exports: %s",
		e.ID, e.Owner, e.Self, command.Here.Atoll("leave"), command.Here.Atoll("join FILE"), command.Broker.Atoll("broker members remove %s --clusterset %s", e.ID, e.Clusterset))
}

// New returns a membership that is to be filled in.
func New() *Membership {
	return &Membership{now: make(chan struct{}, 1), turn: make(chan struct{}, 1), Restored: func() {}}
}

// Membership keeps the entry. Any replica of an agent renews the heartbeat, leader or not: a change of leaders must not look like the loss of the
// cluster.
type Membership struct {
	// Broker reads and writes the broker without a cache.
	Broker client.Client
	// Namespace is the clusterset's on the broker.
	Namespace string
	// Facts are what the entry says. Pods returns which ranges of pods it is to have, where it has the given ones.
	Facts brokerv1alpha1.MemberClusterSpec
	Pods  func(published []string) []string
	// OverBudget returns which members the entry is to name as over this cluster's budget, where it names the given ones.
	OverBudget func(published []string) []string
	// Holder names this replica. Timeout is how long a heartbeat may be missing until other members take the cluster for lost.
	Holder  string
	Timeout time.Duration
	// Placed is called whenever the broker shows that the cluster id is this cluster's.
	Placed func()
	// Heartbeats is given the Leases of all members after each renewal of the own one, with the time when reading them began.
	Heartbeats func(time.Time, []coordinationv1.Lease)
	// Restored is called when the own heartbeat is gone or older than it was: somebody has wiped the broker, or restored it from a backup.
	Restored func()
	// Now is the clock by which the heartbeat says when it was renewed. Other members do not compare it with theirs.
	Now func() time.Time
	Log *slog.Logger

	now chan struct{}

	turn chan struct{} // full while the heartbeat is read and written, so that what was seen last is the newest
	last heartbeat     // as it was seen last
	had  bool          // whether it was ever there
	// renewed is what the heartbeat said when this replica last wanted to renew it, nil before the first time.
	renewed *metav1.MicroTime
}

// heartbeat is a version of the own one.
type heartbeat struct {
	version int64
	counter belief.Counter
}

// Renew has the heartbeat be renewed at once.
func (m *Membership) Renew() {
	select {
	case m.now <- struct{}{}:
	default: // it is about to be
	}
}

// Run keeps the entry until ctx is done, or until the broker says that the cluster id is another cluster's, which it returns as a TakenError.
func (m *Membership) Run(ctx context.Context) error {
	interval := m.Timeout / renewals
	for asked := false; ; {
		limited, cancel := context.WithTimeout(ctx, interval)
		err := m.renew(limited, asked)
		cancel()
		if taken := (*TakenError)(nil); errors.As(err, &taken) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			m.Log.Warn("renewing the membership failed; retrying", "error", err)
		}
		timer := time.NewTimer(wait.Jitter(interval, 0.1))
		select {
		case <-ctx.Done():
			timer.Stop()
			return nil
		case <-timer.C:
			asked = false
		case <-m.now:
			timer.Stop()
			asked = true
		}
	}
}

// Check returns a TakenError where the broker says that the cluster id is another cluster's. A broker that cannot be reached says nothing.
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

// renew writes the MemberCluster where it differs, and the heartbeat.
func (m *Membership) renew(ctx context.Context, asked bool) error {
	if err := m.applyEntry(ctx); err != nil {
		return err
	}
	m.Placed()
	own, err := m.applyLease(ctx, asked)
	if err != nil {
		return fmt.Errorf("renewing the heartbeat: %w", err)
	}
	leases, began := &coordinationv1.LeaseList{}, time.Now()
	// An API server answers from memory what is at least as new as the own renewal.
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
	want.OverBudget = have.Spec.OverBudget
	if m.OverBudget != nil {
		want.OverBudget = m.OverBudget(have.Spec.OverBudget)
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

// applyLease renews the heartbeat, and returns the version of the broker's data at which that was done, "" where another replica was faster. Where another
// one has renewed it since this one last wanted to, it stands, unless asked says that somebody waits for it.
func (m *Membership) applyLease(ctx context.Context, asked bool) (version string, _ error) {
	if err := m.begin(ctx); err != nil {
		return "", err
	}
	defer m.end()
	lease := &coordinationv1.Lease{ObjectMeta: m.meta()}
	err := m.Broker.Get(ctx, client.ObjectKeyFromObject(lease), lease)
	if client.IgnoreNotFound(err) != nil {
		return "", err
	}
	m.notice(lease)
	now, before := ptr.Deref(lease.Spec.RenewTime, metav1.MicroTime{}), m.renewed
	if m.renewed = &now; err == nil && !asked && before != nil && !now.Equal(before) && ptr.Deref(lease.Spec.HolderIdentity, "") != m.Holder {
		return lease.ResourceVersion, nil
	}
	lease.Spec = coordinationv1.LeaseSpec{
		HolderIdentity: &m.Holder,
		// For people: members judge by their own clocks.
		LeaseDurationSeconds: ptr.To(max(1, int32(m.Timeout/time.Second))),
		RenewTime:            ptr.To(metav1.NewMicroTime(m.Now().Truncate(time.Microsecond))),
	}
	if err != nil {
		lease = &coordinationv1.Lease{ObjectMeta: m.meta(), Spec: lease.Spec}
		if err = m.Broker.Create(ctx, lease); err == nil {
			m.last, m.had = heartbeatOf(lease), true // which is another one: that it was gone has been noticed
		}
	} else if err = m.Broker.Update(ctx, lease); err == nil {
		m.notice(lease)
	}
	if overtaken(err) {
		return "", nil
	}
	return lease.ResourceVersion, err
}

// begin waits until nobody reads or writes the heartbeat.
func (m *Membership) begin(ctx context.Context) error {
	select {
	case m.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (m *Membership) end() { <-m.turn }

func heartbeatOf(lease *coordinationv1.Lease) heartbeat {
	version, _ := strconv.ParseInt(lease.ResourceVersion, 10, 64)
	return heartbeat{version, layout.Counter(lease)}
}

// notice is called between begin and end. It calls Restored when the own heartbeat, which has no UID where there is none, is another one than it was, or
// older.
func (m *Membership) notice(lease *coordinationv1.Lease) {
	now, last, had := heartbeatOf(lease), m.last, m.had
	m.last, m.had = now, had || now.counter.Lease != ""
	if had && (now.counter.Lease != last.counter.Lease || now.version < last.version || now.counter.Count < last.counter.Count) {
		m.Log.Warn("The heartbeat on the broker is not the last one that this cluster wrote: the broker may have been wiped or restored. The agent reads and publishes everything again.")
		m.Restored()
	}
}

// Counter reads how often this cluster has found on the broker just what it publishes.
func (m *Membership) Counter(ctx context.Context) (belief.Counter, error) {
	if err := m.begin(ctx); err != nil {
		return belief.Counter{}, err
	}
	defer m.end()
	lease := &coordinationv1.Lease{}
	err := m.Broker.Get(ctx, client.ObjectKey{Namespace: m.Namespace, Name: m.Facts.ClusterID}, lease)
	if client.IgnoreNotFound(err) == nil {
		m.notice(lease) // that it is gone too: by the next renewal the broker may be what it was
	}
	if err != nil {
		return belief.Counter{}, fmt.Errorf("reading the heartbeat: %w", err)
	}
	return layout.Counter(lease), nil
}

// Count increases the counter if it is the given one still, and says whether the broker refuses something. Another replica may renew the heartbeat meanwhile.
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
			return fmt.Errorf("the counter changed during the comparison")
		}
		layout.SetCount(lease, counter.Count+1, refused)
		return m.Broker.Update(ctx, lease)
	})
}

// overtaken tells whether another replica has written at the same time, which is as good.
func overtaken(err error) bool { return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) }
