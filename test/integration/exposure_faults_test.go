package integration

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// policyOf returns the hub's policy for the Service web.
func policyOf(namespace string) *brokerv1alpha1.ServicePolicy {
	return &brokerv1alpha1.ServicePolicy{ObjectMeta: objects.Meta(broker.DefaultNamespace, "web."+namespace)}
}

// If a policy and everything that was published for it vanish from the broker, members keep the
// policy until the hub withdraws it. Running agents and restarted agents keep it. When the hub
// is back, it restores the policies and deletes those whose MultiClusterService was deleted
// meanwhile. A cluster that starts meanwhile does not import services that were exported to
// other clusters only.
func TestPolicyThatVanishesIsNotWithdrawn(t *testing.T) {
	const ns, others = "exposure-vanishes", "exposure-others"
	namespace(t, ns, "c1", "c2", lab.Broker)
	namespace(t, others, "c1", "c2", lab.Broker)
	create(t, lab.Broker, service(ns, "web", 80, 81))
	provider(t, "c1", ns, "10.1.1.1")
	mcs := expose(t, ns, "{types: [CrossCluster], ports: [{port: 80}], range: {clusterNames: [c2]}}")
	create(t, "c2", export(others, "web")) // exported to all clusters
	provider(t, "c1", others, "10.1.1.2")
	provider(t, "c2", others, "10.1.2.2")
	create(t, lab.Broker, service(others, "web", 80, 81), exposed(t, others, "{types: [CrossCluster], range: {clusterNames: [c9]}}"))
	expectExport(t, "c1", others, true)
	expectImport(t, "c2", ns, "web", from("c1"))
	e := export(ns, "web")
	stands := func(when string) {
		t.Helper()
		now := export(ns, "web")
		if planes.Read(t, on["c1"], now); now.UID != e.UID {
			t.Errorf("%s the export is %v", when, now.ObjectMeta)
		}
	}

	planes.Until(t, "the export names its policy", on["c1"], e, func() error {
		if e.Annotations[names.AnnotationPolicy] == "" {
			return fmt.Errorf("the export has annotations %v", e.Annotations)
		}
		return nil
	})
	stop(t, lab.Broker+"/hub")
	for _, namespace := range []string{ns, others} {
		remove(t, lab.Broker, policyOf(namespace))
		// Everything that was published for the policies vanishes too, as when the broker is
		// wiped.
		for _, kind := range []client.Object{&brokerv1alpha1.ExportedService{}, &discoveryv1.EndpointSlice{}} {
			noError(t, on[lab.Broker].DeleteAllOf(t.Context(), kind, client.InNamespace(broker.DefaultNamespace), client.MatchingLabels{names.LabelServiceNamespace: namespace}))
		}
	}
	// The export and import of another Service prove that the agents have continued.
	other := func(name string) {
		t.Helper()
		create(t, "c1", service(ns, name, 80), export(ns, name))
		expectImport(t, "c2", ns, name, from("c1"))
	}
	other("after")
	stands("without policy")
	noImport(t, "c1", ns)
	for _, unit := range []string{"c1/agent", "c2/agent"} {
		stop(t, unit)
		start(t, unit)
	}
	other("restarted")
	stands("after the agent's restart")
	expectImport(t, "c2", others, "web", from("c2"))
	expectAddresses(t, "c2", others, "c2/10.1.2.2")

	start(t, lab.Broker+"/hub")
	expectExposed(t, mcs, "Exported", metav1.ConditionTrue, `"c1"`)
	planes.Until(t, "the policy is back", on[lab.Broker], policyOf(ns), func() error { return nil })
	stands("with the hub")

	stop(t, lab.Broker+"/hub")
	stop(t, "c1/agent")
	remove(t, lab.Broker, mcs)
	start(t, "c1/agent")
	other("last")
	stands("while nobody says that it is withdrawn")
	start(t, lab.Broker+"/hub")
	expectExport(t, "c1", ns, false)
	noImport(t, "c2", ns)
}

// The broker accepts a MultiClusterService without checking for a Service. Its condition and
// Events report a Service or a port that the broker lacks, at creation and later. Exports wait
// for the providers' Services.
func TestServicesThatComeAndGo(t *testing.T) {
	const ns = "exposure-services"
	namespace(t, ns, "c1", lab.Broker)
	mcs := expose(t, ns, "{types: [CrossCluster], ports: [{name: p81}]}")
	expectExposed(t, mcs, "ServiceFound", metav1.ConditionFalse, "no Service "+ns+"/web")
	expectWarning(t, ns, "NoService", "Create the Service on the broker")
	hubs := service(ns, "web", 80, 81)
	create(t, lab.Broker, hubs)
	expectExposed(t, mcs, "ServiceFound", metav1.ConditionTrue, "")
	expectExposed(t, mcs, "Exported", metav1.ConditionFalse, "none of the members has an exportable Service")
	provider(t, "c1", ns, "10.1.1.1")
	expectImport(t, "c1", ns, "web", from("c1"))
	expectExposed(t, mcs, "Exported", metav1.ConditionTrue, `"c1"`)
	namespace(t, ns, "c2") // c2 lacked the namespace and imports the service now
	expectImport(t, "c2", ns, "web", from("c1"))

	change(t, lab.Broker, hubs, func(s *corev1.Service) { s.Spec.Ports = s.Spec.Ports[:1] })
	expectExposed(t, mcs, "ServiceFound", metav1.ConditionFalse, `no port "p81". The ports of the Service are "p80" with number 80. Clusters do not export`)
	remove(t, lab.Broker, hubs)
	expectExposed(t, mcs, "ServiceFound", metav1.ConditionFalse, "no Service "+ns+"/web")
	remove(t, "c1", service(ns, "web"))
	expectExport(t, "c1", ns, false)
	expectExposed(t, mcs, "Exported", metav1.ConditionFalse, "none of the members has an exportable Service")
}

// Members can read policies but not write them, and agents do not change ServiceExports of
// users.
func TestRightsForPolicies(t *testing.T) {
	const ns = "exposure-rights"
	member := asMember(t, "c2")
	policy := policyOf(ns)
	policy.Labels = map[string]string{names.LabelSourceCluster: "c2"}
	policy.Spec = brokerv1alpha1.ServicePolicySpec{ServiceNamespace: ns, ServiceName: "web", Scope: brokerv1alpha1.ScopeClusterset}
	expectForbidden(t, "a member's policy", member.Create(t.Context(), policy))
	lease := &coordinationv1.Lease{ObjectMeta: objects.Meta(broker.DefaultNamespace, names.HubOwner.String())}
	planes.Until(t, "the hub has a Lease", member, lease, func() error { return nil })
	layout.SetCount(lease, 1<<40, false)
	expectForbidden(t, "a member that confirms the hub", member.Update(t.Context(), lease), "a member may write only its own objects")

	namespace(t, ns, "c1")
	agent := as(t, "system:serviceaccount:atoll-system:atoll-agent")
	expectForbidden(t, "an export that does not say that it is the agent's", agent.Create(t.Context(), export(ns, "other")), names.LabelManagedBy)
	users := export(ns, "web")
	create(t, "c1", users)
	expectForbidden(t, "deleting a user's export", agent.Delete(t.Context(), users), names.LabelManagedBy)
	adopted := users.DeepCopy()
	adopted.Labels = map[string]string{names.LabelManagedBy: names.AgentManager}
	expectForbidden(t, "adopting a user's export", agent.Patch(t.Context(), adopted, client.MergeFrom(users)), names.LabelManagedBy)
}

// Removing the hub deletes its policies and the exports that members created for them. The
// MultiClusterServices stay, and the next hub applies them.
func TestRemoveHub(t *testing.T) {
	const ns = "exposure-removed"
	namespace(t, ns, "c1", lab.Broker)
	create(t, lab.Broker, service(ns, "web", 80, 81))
	provider(t, "c1", ns, "10.1.1.1")
	expose(t, ns, "{types: [CrossCluster]}")
	expectExport(t, "c1", ns, true)
	target := planes.Target(t, theLab, lab.Broker)
	noError(t, setup.RemoveHub(t.Context(), target, broker.DefaultNamespace, false))
	// Rejoin re-creates only the hub, not members. It runs once, because the hub needs a while
	// to start.
	rejoin := sync.OnceValue(func() error { return theLab.Rejoin(context.Background()) })
	t.Cleanup(func() { noError(t, rejoin()) })
	expectExport(t, "c1", ns, false)
	expectGone(t, lab.Broker, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: names.HubNamespace}})
	noError(t, rejoin())
	expectExport(t, "c1", ns, true)
}

// A MultiClusterService whose policy the hub cannot write gets a condition. Here its name is
// too long for a Service. Other policies are not affected.
func TestPolicyThatIsRefused(t *testing.T) {
	const ns = "exposure-refused"
	namespace(t, ns, "c1", lab.Broker)
	long := exposed(t, ns, "{types: [CrossCluster]}")
	long.Name = strings.Repeat("long", 16)
	create(t, lab.Broker, long)
	expectExposed(t, long, "Exported", metav1.ConditionFalse, "rejects the ServicePolicy")
	if c := meta.FindStatusCondition(long.Status.Conditions, "Exported"); c == nil || c.Reason != "PolicyRefused" {
		t.Errorf("condition Exported is %+v", c)
	}
	provider(t, "c1", ns, "10.1.1.1") // the other service is exported
	expose(t, ns, "{types: [CrossCluster]}")
	expectImport(t, "c1", ns, "web", from("c1"))
}
