package simulation

import (
	"fmt"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// joinEarlier writes on the broker what an agent writes that knows no properties, preferences and drains, for one service with an
// endpoint. The export is older than all others.
func joinEarlier(t *testing.T, b *Broker, id, region, address string) {
	t.Helper()
	member, lease, record := objects.Member(id), objects.Lease(id), objects.Record(id, "shop", "web", objects.Port(80))
	member.Spec.AgentVersion, member.Spec.Region, member.Spec.IPFamilies = "v0.1.0", region, record.Spec.IPFamilies
	lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
	record.Spec.ExportedAt = metav1.NewTime(time.Now().Add(-time.Hour))
	planes.Create(t, b.Admin, member, lease, record, objects.Published(id, "shop", "web-1", "web", address))
}

// followersOf is what `atoll drain --wait` reads on the broker.
func followersOf(t *testing.T, b *Broker, id names.ClusterID) report.Followers {
	t.Helper()
	s := &survey.Survey{ClusterID: id, Broker: &survey.Broker{At: time.Now()}}
	var members brokerv1alpha1.MemberClusterList
	var leases coordinationv1.LeaseList
	var records brokerv1alpha1.ExportedServiceList
	for _, list := range []client.ObjectList{&members, &leases, &records} {
		planes.NoError(t, b.Admin.List(t.Context(), list, client.InNamespace(broker.DefaultNamespace)))
	}
	s.Broker.Members, s.Broker.Heartbeats = members.Items, leases.Items
	for _, record := range records.Items { // as a member may read them
		if record.Spec.ClusterID == id.String() {
			s.Broker.Exports = append(s.Broker.Exports, record)
		}
	}
	return report.FollowersOf(s, "", "")
}

// An agent from before preferences and drains works in one clusterset with those of today. Its endpoints are imported, and it counts
// as a cluster without properties, except for the region that agents always published. The broker's administrator can drain it.
// It does not follow drains, and atoll drain --wait names it.
func TestEarlierAgent(t *testing.T) {
	t.Parallel()
	b, members := joinAll(t, 2, Options{})
	const earlier = "earlier"
	joinEarlier(t, b, earlier, "north", addressOf(2))
	ports := exportWeb(t, members...)
	importing, http := members[1], ports[0]
	p := follow(t, importing, "web")
	p.isReady(t, "all are imported", http, addressOf(0), addressOf(1), addressOf(2))

	for _, m := range members {
		planes.Create(t, m.Client, &aboutv1beta1.ClusterProperty{ObjectMeta: metav1.ObjectMeta{Name: "tier"}, Spec: aboutv1beta1.ClusterPropertySpec{Value: "gold"}})
	}
	policy := policyFor("ServiceImport", trafficv1alpha1.Preference{})
	planes.Create(t, importing.Client, policy)
	// Each preference differs from the one before in its result.
	prefer := func(what string, fallback trafficv1alpha1.Fallback, e trafficv1alpha1.PropertyExpression, want ...string) {
		t.Helper()
		planes.Change(t, importing.Client, policy, func(p *trafficv1alpha1.TrafficPolicy) {
			p.Spec.Fallback = fallback
			p.Spec.ClusterSelectors = []trafficv1alpha1.ClusterGroup{{PropertySelector: trafficv1alpha1.PropertySelector{MatchExpressions: []trafficv1alpha1.PropertyExpression{e}}}}
			p.Generation++
		})
		p.isReady(t, what, http, want...)
	}
	const in, exists, doesNotExist = metav1.LabelSelectorOpIn, metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist
	prefer("a property that it does not have", trafficv1alpha1.FallbackAll, trafficv1alpha1.PropertyExpression{Key: "tier", Operator: exists}, addressOf(0), addressOf(1))
	prefer("its region", trafficv1alpha1.FallbackAll, trafficv1alpha1.PropertyExpression{Key: "region", Operator: in, Values: []string{"north"}}, addressOf(2))
	prefer("never there", trafficv1alpha1.FallbackNone, trafficv1alpha1.PropertyExpression{Key: "tier", Operator: in, Values: []string{"gold"}}, addressOf(0), addressOf(1))
	prefer("no such property", trafficv1alpha1.FallbackAll, trafficv1alpha1.PropertyExpression{Key: "tier", Operator: doesNotExist}, addressOf(2))
	prefer("the others' ids", trafficv1alpha1.FallbackAll, trafficv1alpha1.PropertyExpression{Key: "cluster.clusterset.k8s.io", Operator: metav1.LabelSelectorOpNotIn, Values: []string{earlier}}, addressOf(0), addressOf(1))
	prefer("its id", trafficv1alpha1.FallbackNone, trafficv1alpha1.PropertyExpression{Key: "cluster.clusterset.k8s.io", Operator: in, Values: []string{earlier}}, addressOf(2))
	planes.Delete(t, importing.Client, policy)
	p.isReady(t, "without the policy", http, addressOf(0), addressOf(1), addressOf(2))

	// Its export is the oldest and has no policy, so no other export's policy applies.
	exported := policyFor("ServiceExport", trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{inCluster(importing.ID.String())}})
	planes.Create(t, importing.Client, exported)
	planes.Condition(t, importing.Client, objects.Export("shop", "web"), string(mcsv1beta1.ServiceExportConditionConflict), "True", `cluster preferences. Using "none" from oldest service export in "`+earlier)
	p.isReady(t, "another export's policy", http, addressOf(0), addressOf(1), addressOf(2))
	planes.Delete(t, importing.Client, exported)

	drained := permissions.DrainedPrefix + earlier
	planes.Create(t, b.Admin, objects.Permissions(map[string]string{drained: "true"}))
	p.isReady(t, "drained by the broker's administrator", http, addressOf(0), addressOf(1))
	planes.Change(t, b.Admin, objects.Permissions(nil), func(c *corev1.ConfigMap) { c.Data = map[string]string{drained: "false"} })
	p.isReady(t, "undrained by the broker's administrator", http, addressOf(0), addressOf(1), addressOf(2))

	drainExport(t, members[0], true)
	p.isReady(t, "another cluster is drained", http, addressOf(1), addressOf(2))
	planes.Eventually(t, "only the earlier agent does not follow", func() error {
		f := followersOf(t, b, members[0].ID)
		if !slices.Equal(f.Follow, []string{members[0].ID.String(), members[1].ID.String()}) || !slices.Equal(f.Await, []string{earlier}) || len(f.Silent)+len(f.Unpublished) > 0 {
			return fmt.Errorf("followers are %+v", f)
		}
		return nil
	})
	p.isNeverEmpty(t, http)
}
