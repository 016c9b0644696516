package membership

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/render"
)

// What joining makes run is let in where a pod with rights on its node is not, and joining
// says what keeps it from running.
func TestJoinRunsAgentAndDNS(t *testing.T) {
	must(t, "", "broker deploy --context broker")
	// Here are no nodes.
	refused(t, joinFile(t, "c1"), "join - --wait 1s --context c1",
		"the cluster has joined, but the Deployment atoll-agent is not available: 0 of 2 pods are ready", "kubectl -n atoll-system get pods")
	for _, name := range []string{render.AgentName, render.DNSName} {
		eventually(t, name+" has its pods", func() error {
			pods := &corev1.PodList{}
			err := on["c1"].List(t.Context(), pods, client.InNamespace(names.SystemNamespace), client.MatchingLabels{render.LabelName: name})
			if err == nil && len(pods.Items) != 2 {
				err = fmt.Errorf("there are %d", len(pods.Items))
			}
			return err
		})
	}
	root := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: "root"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "any", Image: "any"}}},
	}
	expectForbidden(t, "a pod that may run as root", on["c1"].Create(t.Context(), root))

	// Again with other wishes: the same objects are changed.
	must(t, joinFile(t, "c1"), "join - --wait 0 --replicas 1 --tag other --context c1")
	must(t, "", "leave --context c1")
	expectGone(t, "c1", namespace(names.SystemNamespace))
}
