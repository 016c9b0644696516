package membership

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// newBroker returns a client for a broker with the clusterset's namespace.
func newBroker(t *testing.T) client.Client {
	t.Helper()
	c, err := client.New(apiserver.New(1).Config(), client.Options{Scheme: broker.Scheme()})
	if err == nil {
		err = c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// newReplica returns an agent replica of cluster c1 with the given clock.
func newReplica(c client.Client, holder string, clock *time.Time) *Membership {
	m := New()
	m.Broker, m.Namespace, m.Holder, m.Timeout, m.Log = c, "set", holder, 40*time.Second, slog.New(slog.DiscardHandler)
	m.Facts = brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "uid"}
	m.Placed, m.Heartbeats = func() {}, func(time.Time, []coordinationv1.Lease) {}
	m.Now = func() time.Time { return *clock }
	return m
}

// TestReplicasShareAHeartbeat lets two replicas renew a heartbeat in turns until one stops.
// Each interval has exactly one renewal, whichever replica makes it.
func TestReplicasShareAHeartbeat(t *testing.T) {
	c := newBroker(t)
	clock := time.Unix(0, 0)
	a, b := newReplica(c, "a", &clock), newReplica(c, "b", &clock)
	for i, step := range []struct {
		who   *Membership
		asked bool
		want  string // holder of the last renewal
	}{
		{a, false, "a"},
		{b, false, "b"}, // a new replica does not know the age of the heartbeat
		{a, false, "b"},
		{b, false, "b"},
		{a, false, "b"},
		{a, false, "a"}, // b has stopped
		{b, false, "a"},
		{b, true, "b"}, // a caller waits for the next renewal
	} {
		clock = clock.Add(5 * time.Second)
		if err := step.who.renew(t.Context(), step.asked); err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		if err := c.Get(context.Background(), client.ObjectKey{Namespace: "set", Name: "c1"}, lease); err != nil {
			t.Fatal(err)
		}
		if got := *lease.Spec.HolderIdentity; got != step.want {
			t.Errorf("step %d: %s has renewed the heartbeat last, want %s", i, got, step.want)
		}
	}
}

// TestHeartbeatThatIsNotWhatItWas deletes the heartbeat. The replica that finds it missing
// re-creates it at once. Each replica that has seen the old heartbeat reports a restore, once;
// a new replica does not.
func TestHeartbeatThatIsNotWhatItWas(t *testing.T) {
	c := newBroker(t)
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "c1"}}
	clock := time.Unix(0, 0)
	restored := map[string]int{}
	replica := func(holder string) *Membership {
		m := newReplica(c, holder, &clock)
		m.Restored = func() { restored[holder]++ }
		return m
	}
	a, b, late := replica("a"), replica("b"), replica("late")
	for i, step := range []struct {
		deleted bool
		who     *Membership
		a, b    int
	}{
		{false, b, 0, 0},
		{false, a, 0, 0},
		{false, b, 0, 0},
		{true, a, 1, 0},
		{false, a, 1, 0},
		{false, b, 1, 1},
		{true, b, 1, 2},
		{false, late, 1, 2},
		{false, a, 2, 2},
		{false, b, 2, 2},
	} {
		clock = clock.Add(10 * time.Second)
		if step.deleted {
			if err := c.Delete(t.Context(), lease.DeepCopy()); err != nil {
				t.Fatal(err)
			}
		}
		if err := step.who.renew(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		if restored["a"] != step.a || restored["b"] != step.b || restored["late"] > 0 {
			t.Errorf("step %d: said %v", i, restored)
		}
		if err := c.Get(t.Context(), client.ObjectKeyFromObject(lease), lease.DeepCopy()); err != nil {
			t.Errorf("step %d: %v", i, err)
		}
	}
}

// The agent reports a restore if the heartbeat is missing when its counter is read, even if the
// broker has the old heartbeat again by the next renewal.
func TestHeartbeatThatIsGoneForAMoment(t *testing.T) {
	c := newBroker(t)
	clock, restored := time.Unix(0, 0), 0
	m := newReplica(c, "a", &clock)
	m.Restored = func() { restored++ }
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "c1"}}
	if err := errors.Join(m.renew(t.Context(), false), c.Delete(t.Context(), lease)); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Counter(t.Context()); err == nil || restored != 1 {
		t.Errorf("%v, said %d times", err, restored)
	}
}

// A broker that is wiped may be wiped again before there is a heartbeat to notice it, so everything is read again when there is one.
func TestHeartbeatIsMissingForAWhile(t *testing.T) {
	c := newBroker(t)
	clock, restored := time.Unix(0, 0), 0
	a := newReplica(c, "a", &clock)
	a.Restored = func() { restored++ }
	set := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set"}}
	renew := func() error { return a.renew(t.Context(), false) }
	compare := func() error {
		_, err := a.Counter(t.Context())
		return err
	}
	for i, step := range []struct {
		act      func() error
		fails    bool
		restored int
	}{
		{renew, false, 0},
		{func() error { return c.Delete(t.Context(), set.DeepCopy()) }, false, 0},
		{renew, true, 1},
		{compare, true, 1},
		{compare, true, 1},
		{func() error { return c.Create(t.Context(), set.DeepCopy()) }, false, 1},
		{renew, false, 2},
		{renew, false, 2},
		{compare, false, 2},
	} {
		clock = clock.Add(5 * time.Second)
		if err := step.act(); (err != nil) != step.fails || restored != step.restored {
			t.Errorf("step %d: %v, %d restores", i, err, restored)
		}
	}
}

// The leader's heartbeat says at once which drains the cluster follows, although another replica has renewed it, and other replicas
// leave that as it is.
func TestHeartbeatSaysWhichDrainsAreFollowed(t *testing.T) {
	c := newBroker(t)
	clock := time.Unix(0, 0)
	leader, standby := newReplica(c, "leader", &clock), newReplica(c, "standby", &clock)
	follows := ""
	leader.FollowsDrains = func(string) string { return follows }
	standby.FollowsDrains = func(published string) string { return published }
	for i, step := range []struct {
		who     *Membership
		follows string
	}{{leader, ""}, {standby, ""}, {leader, "c2=12"}, {standby, "c2=12"}, {leader, "c2=12"}, {standby, "c2=12"}, {leader, "c2=34,c3=56"}, {leader, ""}} {
		clock = clock.Add(5 * time.Second)
		follows = step.follows
		if err := step.who.renew(t.Context(), false); err != nil {
			t.Fatal(err)
		}
		lease := &coordinationv1.Lease{}
		if err := c.Get(context.Background(), client.ObjectKey{Namespace: "set", Name: "c1"}, lease); err != nil {
			t.Fatal(err)
		}
		if got := lease.Annotations[names.AnnotationFollowsDrains]; got != step.follows {
			t.Errorf("step %d: the heartbeat says %q, want %q", i, got, step.follows)
		}
	}
}
