package simulation

import (
	"log/slog"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// If another cluster takes over a member's id while the member runs, the agent stops writing to
// the broker. Its log says so and names the fix. Imports of the member's services stay. The
// agent continues when the id belongs to the member again.
//
// Pitfall 34.
func TestAnIDIsTakenAtRunTime(t *testing.T) {
	t.Parallel()
	log := &planes.Log{}
	b, members := joinAll(t, 2, Options{Args: []string{"--lease-timeout=4s"}, Log: slog.New(slog.NewTextHandler(log, nil))})
	shop(t, members...)
	export(t, members[0], "web", "10.201.0.1", "")
	expect(t, "it is imported", members[1], "10.201.0.1")
	settled(t, members)

	entry, owner := objects.Member("sim1"), ""
	planes.Change(t, b.Admin, entry, func(m *brokerv1alpha1.MemberCluster) { owner, m.Spec.ClusterUID = m.Spec.ClusterUID, "another" })
	log.Expect(t, "does not take part in the clusterset", "To give this cluster another id", "atoll leave", "atoll broker members remove sim1")
	planes.Change(t, members[0].Client, objects.Slice("shop", "web-1", "web"), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "10.201.0.2" })
	settled(t, members)
	expect(t, "it is as it was", members[1], "10.201.0.1")

	planes.Change(t, b.Admin, entry, func(m *brokerv1alpha1.MemberCluster) { m.Spec.ClusterUID = owner })
	expect(t, "it goes on", members[1], "10.201.0.2")
}
