package integration

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// exposed is a MultiClusterService of a Service web with ports p80 and p81 on the hub, in the
// form of a manifest's spec.
func exposed(t *testing.T, namespace, spec string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	mcs := objects.Exposed(namespace, "web")
	noError(t, yaml.UnmarshalStrict([]byte(spec), &mcs.Spec))
	return mcs
}

// expose creates a MultiClusterService web on the broker.
func expose(t *testing.T, namespace, spec string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	mcs := exposed(t, namespace, spec)
	create(t, lab.Broker, mcs)
	return mcs
}

func expectExposed(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, kind string, status metav1.ConditionStatus, message string) {
	t.Helper()
	planes.Condition(t, on[lab.Broker], mcs, kind, string(status), message)
}

// expectWarning waits for a Warning Event about the MultiClusterService web.
func expectWarning(t *testing.T, ns, reason, note string) {
	t.Helper()
	if e := planes.Told(t, on[lab.Broker], ns, "MultiClusterService", "web", reason, note); e.Type != corev1.EventTypeWarning {
		t.Errorf("Event %s is %s", reason, e.Type)
	}
}

// provider creates the Service web in a cluster, with two ports and an endpoint.
func provider(t *testing.T, cluster, ns, address string) {
	t.Helper()
	create(t, cluster, service(ns, "web", 80, 81))
	s := slice(ns, "web-x", "web", address)
	s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To("p81"), Port: ptr.To(int32(8081))})
	create(t, cluster, s)
}

// expectExport waits until each cluster has a ServiceExport web for a policy, or until no
// cluster has.
func expectExport(t *testing.T, clusters, ns string, want bool) {
	t.Helper()
	for cluster := range strings.SplitSeq(clusters, ",") {
		planes.PolicyExport(t, on[cluster], ns, "web", want)
	}
}

func noImport(t *testing.T, clusters, ns string) {
	t.Helper()
	expectGone(t, clusters, objects.Import(ns, "web"))
	expectAddresses(t, clusters, ns)
}

func setSpec(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, spec string) {
	t.Helper()
	want := exposed(t, mcs.Namespace, spec).Spec
	change(t, lab.Broker, mcs, func(m *networkingv1alpha1.MultiClusterService) { m.Spec = want })
}

// Pitfall 38: a MultiClusterService exposes exactly the named ports of a Service, also with
// both types at once. Pitfall 39: it connects several providers with several consumers. After
// each change, exports and imports that the spec no longer wants are deleted.
func TestCrossCluster(t *testing.T) {
	const ns = "exposure"
	namespace(t, ns, "c1", "c2", lab.Broker)
	create(t, lab.Broker, service(ns, "web", 80, 81))
	provider(t, "c1", ns, "10.1.1.1")
	provider(t, "c2", ns, "10.2.1.1")
	mcs := expose(t, ns, "{types: [CrossCluster]}")
	expectExport(t, "c1,c2", ns, true)
	expectImport(t, "c1,c2", ns, "web", from("c1", "c2"))
	expectAddresses(t, "c1,c2", ns, "c1/10.1.1.1", "c2/10.2.1.1")
	expectExposed(t, mcs, "Exported", metav1.ConditionTrue, `The Service is exported by "c1", "c2" to all members`)
	expectExposed(t, mcs, "ServiceFound", metav1.ConditionTrue, "")
	expectExposed(t, mcs, "ClustersFound", metav1.ConditionTrue, "")

	setSpec(t, mcs, "{types: [CrossCluster], ports: [{port: 80}], range: {clusterNames: [c2]}, providerClusters: [{name: c1}]}")
	noImport(t, "c1", ns)
	expectExport(t, "c2", ns, false)
	expectImport(t, "c2", ns, "web", withPorts(from("c1"), 80))
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	derived := service(ns, "web-clusterset")
	planes.Until(t, "only port p80 is exposed anywhere", on["c2"], derived, func() error {
		if len(derived.Spec.Ports) != 1 || derived.Spec.Ports[0].Port != 80 {
			return fmt.Errorf("the derived Service has %v", derived.Spec.Ports)
		}
		published := &discoveryv1.EndpointSliceList{}
		if err := on[lab.Broker].List(t.Context(), published, client.MatchingLabels{"atoll.dev/service-namespace": ns}); err != nil {
			return err
		}
		for _, s := range append(published.Items, slicesOf(t, "c2", ns)...) {
			if len(s.Ports) != 1 || *s.Ports[0].Name != "p80" {
				return fmt.Errorf("%s has ports %v", s.Name, s.Ports)
			}
		}
		record := &brokerv1alpha1.ExportedService{}
		if err := on[lab.Broker].Get(t.Context(), client.ObjectKey{Namespace: "atoll-clusterset", Name: "web." + ns + ".c1"}, record); err != nil {
			return err
		}
		if len(record.Spec.Ports) != 1 {
			return fmt.Errorf("the record has %v", record.Spec.Ports)
		}
		return nil
	})

	// Providers and consumers are swapped. Then only the hub uses the service.
	setSpec(t, mcs, "{types: [CrossCluster], consumerClusters: [{name: c1}, {name: c9}], providerClusters: [{name: c2}, {name: c8}]}")
	expectImport(t, "c1", ns, "web", from("c2"))
	expectExport(t, "c1", ns, false)
	noImport(t, "c2", ns)
	expectExposed(t, mcs, "ClustersFound", metav1.ConditionFalse, `"c8", "c9"`)
	expectWarning(t, ns, "NoSuchCluster", `"c8", "c9"`)
	setSpec(t, mcs, "{types: [LoadBalancer, CrossCluster], consumerClusters: [{name: c1}]}")
	expectImport(t, "c1", ns, "web", from("c1", "c2"))
	setSpec(t, mcs, "{types: [LoadBalancer], ports: [{name: p81}]}")
	expectExport(t, "c1,c2", ns, true)
	noImport(t, "c1,c2", ns)
	expectExposed(t, mcs, "Exported", metav1.ConditionTrue, "to the load balancer only")

	remove(t, lab.Broker, mcs)
	expectExport(t, "c1,c2", ns, false)
	noImport(t, "c1,c2", ns)
	expectBrokerEmpty(t, ns)
}

// A user's own ServiceExport works like an agent's. Agents never change or delete it, even if
// the user applied it over an agent's. With a load balancer alone no cluster imports the
// service, unless a user exports it: then clusters import all its ports.
func TestUsersOwnExportSurvives(t *testing.T) {
	const ns = "exposure-own"
	namespace(t, ns, "c1", "c2", lab.Broker)
	create(t, lab.Broker, service(ns, "web", 80, 81))
	provider(t, "c1", ns, "10.1.1.1")
	provider(t, "c2", ns, "10.2.1.1")
	own := export(ns, "web")
	create(t, "c1", own)
	expectImport(t, "c2", ns, "web", from("c1"))
	mcs := expose(t, ns, "{types: [LoadBalancer], ports: [{name: p81}]}")
	expectExport(t, "c2", ns, true)
	expectExposed(t, mcs, "Exported", metav1.ConditionTrue, `by "c1", "c2"`)
	expectImport(t, "c1,c2", ns, "web", withPorts(from("c1"), 80, 81))
	expectAddresses(t, "c1,c2", ns, "c1/10.1.1.1")
	eventually(t, "the export for the hub only is published with a single port", func() error {
		published := &discoveryv1.EndpointSliceList{}
		if err := on[lab.Broker].List(t.Context(), published, client.MatchingLabels{"atoll.dev/service-namespace": ns}); err != nil {
			return err
		}
		var all []string
		for _, s := range published.Items {
			all = append(all, fmt.Sprint(s.Labels["multicluster.kubernetes.io/source-cluster"], len(s.Ports)))
		}
		if slices.Sort(all); fmt.Sprint(all) != "[c12 c21]" {
			return fmt.Errorf("published are %v", all)
		}
		return nil
	})
	setSpec(t, mcs, "{types: [CrossCluster], ports: [{name: p81}], range: {clusterNames: [c2]}}")
	noImport(t, "c1", ns)
	expectImport(t, "c2", ns, "web", withPorts(from("c1", "c2"), 81))
	change(t, "c2", export(ns, "web"), func(e *mcsv1beta1.ServiceExport) { // as kubectl apply does
		e.Annotations = map[string]string{"kubectl.kubernetes.io/last-applied-configuration": "{}"}
	})
	// From now on it is the user's, and exports the Service to the clusterset although the MultiClusterService does not.
	setSpec(t, mcs, "{types: [LoadBalancer], ports: [{name: p81}]}")
	expectImport(t, "c1,c2", ns, "web", withPorts(from("c1", "c2"), 80, 81))
	remove(t, lab.Broker, mcs)
	expectImport(t, "c1,c2", ns, "web", withPorts(from("c1", "c2"), 80, 81))
	uid := own.UID
	for _, cluster := range []string{"c1", "c2"} {
		e := export(ns, "web")
		planes.Until(t, "the export in "+cluster+" is a person's", on[cluster], e, func() error {
			if len(e.Labels) > 0 || cluster == "c1" && e.UID != uid {
				return fmt.Errorf("there is %+v", e.ObjectMeta)
			}
			return nil
		})
	}
}
