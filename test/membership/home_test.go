package membership

import (
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// expectEndpoints waits until a cluster has imported exactly these addresses in a namespace.
func expectEndpoints(t *testing.T, cluster, namespace string, want ...string) {
	t.Helper()
	eventually(t, fmt.Sprintf("%s has %v", cluster, want), func() error {
		have, err := planes.Endpoints(t.Context(), on[cluster], client.InNamespace(namespace))
		if err == nil && !slices.Equal(have, want) {
			err = fmt.Errorf("the imported addresses are %v", have)
		}
		return err
	})
}

// An agent without a flag for pod ranges reads them from the nodes and follows changes. It
// refuses other clusters' endpoints in these ranges, and it publishes few, merged ranges. With
// the flag it refuses all endpoints of an overlapping cluster.
func TestNodesSayWherePodsAre(t *testing.T) {
	const ns = "node-ranges"
	deployBroker(t)
	stop := map[string]func(){}
	for _, c := range []string{"c1", "c2"} {
		must(t, joinFile(t, c), "join - --no-workloads --context "+c)
		create(t, c, namespace(ns))
	}
	t.Cleanup(func() {
		for _, c := range []string{"c1", "c2"} {
			stop[c]()
			must(t, "", "leave --yes --context "+c)
		}
	})
	for _, c := range []string{"c1", "c2"} {
		stop[c] = startAgent(t, asAgent(t, c), t.Output())
	}
	create(t, "c2", service(ns, "web"), export(ns, "web"), objects.Slice(ns, "web-x", "web", "10.77.0.5", "10.77.2.5", "10.88.0.5"))
	expectImport(t, "c1", ns, "web", "c2")
	expectEndpoints(t, "c1", ns, "10.77.0.5", "10.77.2.5", "10.88.0.5")

	node := func(i int) *corev1.Node {
		cidr := fmt.Sprintf("10.77.%d.0/24", i)
		return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("node-%d", i)}, Spec: corev1.NodeSpec{PodCIDR: cidr, PodCIDRs: []string{cidr}}}
	}
	published := func(want ...string) {
		t.Helper()
		m := objects.Member("c1")
		planes.Until(t, fmt.Sprintf("c1 publishes the pod ranges %v", want), on[lab.Broker], m, func() error {
			if !slices.Equal(m.Spec.PodCIDRs, want) {
				return fmt.Errorf("the published ranges are %v", m.Spec.PodCIDRs)
			}
			return nil
		})
	}
	create(t, "c1", node(0))
	expectEndpoints(t, "c1", ns, "10.77.2.5", "10.88.0.5")
	published("10.77.0.0/24")
	create(t, "c1", node(1), node(2))
	expectEndpoints(t, "c1", ns, "10.88.0.5")
	published("10.77.0.0/22")
	planes.Delete(t, on["c1"], node(0))
	expectEndpoints(t, "c1", ns, "10.77.0.5", "10.88.0.5")
	published("10.77.0.0/22") // the deletion of a node does not change the published ranges

	stop["c1"]()
	stop["c1"] = startAgent(t, asAgent(t, "c1"), t.Output(), func(o *agent.Options) {
		o.RefuseImportsFrom, o.PodCIDRs = []string{"c9", "c2"}, []string{"10.1.0.0/16"}
	})
	expectGone(t, "c1", objects.Import(ns, "web"))
	expectEndpoints(t, "c1", ns)
	expectEndpoints(t, "c2", ns, "10.77.0.5", "10.77.2.5", "10.88.0.5")
	published("10.1.0.0/16")
}
