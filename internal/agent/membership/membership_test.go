package membership

import (
	"context"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// TestReplicasShareAHeartbeat has two replicas renew a heartbeat by turns, of which one stops: each interval has one renewal, whichever replica makes it.
func TestReplicasShareAHeartbeat(t *testing.T) {
	c, err := client.New(apiserver.New(1).Config(), client.Options{Scheme: broker.Scheme()})
	if err == nil {
		err = c.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set"}})
	}
	if err != nil {
		t.Fatal(err)
	}
	clock := time.Unix(0, 0)
	replica := func(holder string) *Membership {
		m := New()
		m.Broker, m.Namespace, m.Holder, m.Timeout = c, "set", holder, 40*time.Second
		m.Facts = brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "uid"}
		m.Placed, m.Heartbeats = func() {}, func(time.Time, []coordinationv1.Lease) {}
		m.Now = func() time.Time { return clock }
		return m
	}
	a, b := replica("a"), replica("b")
	for i, step := range []struct {
		who   *Membership
		asked bool
		want  string // who has renewed it last
	}{
		{a, false, "a"},
		{b, false, "b"}, // one that begins does not know for how long it has not been renewed
		{a, false, "b"},
		{b, false, "b"},
		{a, false, "b"},
		{a, false, "a"}, // b has stopped
		{b, false, "a"},
		{b, true, "b"}, // somebody waits for it to come back
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
