package simulation

import (
	"context"
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A heartbeat says that its cluster follows a drain when the endpoints are on standby there, if they can be, and not before. It says
// so in the drained cluster, in one that does not import the service, and where all clusters are drained, too.
func TestHeartbeatsSayWhichDrainsAreFollowed(t *testing.T) {
	waits(t)
	b, members := joinAll(t, 4, Options{Args: []string{"--lease-timeout=10s"}})
	ports := exportWeb(t, members[:3]...) // the last member does not have the namespace
	p := follow(t, members[1], "web")
	p.isReady(t, "all", ports[0], addressOf(0), addressOf(1), addressOf(2))

	follows := func(who, drained *Member) error {
		record, lease := objects.Record(drained.ID.String(), "shop", "web"), objects.Lease(who.ID.String())
		planes.Read(t, b.Admin, record)
		planes.Read(t, b.Admin, lease)
		digest := drain.Digest(false, map[types.NamespacedName]int64{record.Spec.Service(): layout.Revision(record)})
		if !record.Spec.Drained || !drain.Follows(lease, drained.ID, digest) {
			return fmt.Errorf("drained: %t, the heartbeat of %s says %q, the digest is %s", record.Spec.Drained, who.ID, lease.Annotations[names.AnnotationFollowsDrains], digest)
		}
		return nil
	}
	readyFrom := func(who, drained *Member) (ready int) {
		all := &discoveryv1.EndpointSliceList{}
		planes.NoError(t, who.Client.List(t.Context(), all, client.InNamespace("shop"), client.MatchingLabels{names.LabelSourceCluster: drained.ID.String()}))
		for _, s := range all.Items {
			for _, port := range s.Ports {
				if ptr.Deref(port.Name, "") == ports[0] && ptr.Deref(s.Endpoints[0].Conditions.Ready, true) {
					ready++
				}
			}
		}
		return ready
	}
	for round := range 3 {
		drainExport(t, members[0], true)
		for _, who := range members {
			eventually(t, who.ID.String()+" follows", func(context.Context) error { return follows(who, members[0]) })
			if ready := readyFrom(who, members[0]); ready > 0 {
				t.Errorf("round %d: %s says that it follows the drain, and has %d ready endpoints", round, who.ID, ready)
			}
		}
		drainExport(t, members[0], false)
		p.isReady(t, "undrained", ports[0], addressOf(0), addressOf(1), addressOf(2))
	}

	for _, m := range members[:3] {
		drainExport(t, m, true)
	}
	for _, who := range members {
		for _, drained := range members[:3] {
			eventually(t, who.ID.String()+" follows where all are drained", func(context.Context) error { return follows(who, drained) })
		}
	}
	if ready := readyFrom(members[1], members[0]); ready != 1 {
		t.Errorf("all are drained: %d ready endpoints", ready)
	}
	for _, m := range members[:3] {
		drainExport(t, m, false)
	}
	eventually(t, "nothing is drained", func(ctx context.Context) error {
		all := &coordinationv1.LeaseList{}
		if err := b.Admin.List(ctx, all); err != nil {
			return err
		}
		for _, lease := range all.Items {
			if says := lease.Annotations[names.AnnotationFollowsDrains]; says != "" {
				return fmt.Errorf("%s still follows %s", lease.Name, says)
			}
		}
		return nil
	})
}
