package membership

import (
	"fmt"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// The namespace's Pod Security level admits the pods of agent and DNS but no privileged pod.
// join reports why pods are not running.
func TestJoinRunsAgentAndDNS(t *testing.T) {
	deployBroker(t)
	// The lab has no nodes.
	refused(t, joinFile(t, "c1"), "join - --wait 1s --context c1",
		"the cluster has joined, but the Deployment atoll-agent is not available: 0 of 2 pods are ready", "kubectl get pods -n atoll-system --context c1")
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
	expectForbidden(t, "a pod that may run as root", on["c1"].Create(t.Context(), objects.Pod(names.SystemNamespace, "root")))

	// Joining again with other flags changes the same objects.
	must(t, joinFile(t, "c1"), "join - --wait 0 --replicas 1 --tag other --context c1")
	must(t, "", "leave --yes --context c1")
	expectGone(t, "c1", namespace(names.SystemNamespace))
}

// The namespace's Pod Security level admits the pods of the hub with HAProxy, on the pod
// network and on the host network. A pod that may run as root is admitted only on the host
// network.
func TestDeployRunsHub(t *testing.T) {
	deployBroker(t)
	// No controller in the lab creates pods of a Deployment.
	letIn := func(onNodes bool) {
		t.Helper()
		d := &appsv1.Deployment{}
		noError(t, on[lab.Broker].Get(t.Context(), client.ObjectKey{Namespace: names.HubNamespace, Name: render.HubName}, d))
		pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: d.Namespace, Name: "hub", Labels: d.Spec.Template.Labels}, Spec: d.Spec.Template.Spec}
		if err := on[lab.Broker].Create(t.Context(), pod, client.DryRunAll); err != nil || len(pod.Spec.Containers) != 2 || pod.Spec.HostNetwork != onNodes {
			t.Errorf("on nodes %v: %v, %+v", onNodes, err, pod.Spec)
		}
	}
	const deploy = "hub deploy --context broker --replicas 1 --haproxy-image haproxy:2.6 --hub-arg --lb-addresses=haproxy=192.0.2.1"
	must(t, "", deploy)
	letIn(false)
	must(t, "", "broker deploy --context broker --clusterset second")
	refused(t, "", deploy+" --clusterset second", "this API server already has a hub, which belongs to clusterset atoll-clusterset", "atoll hub remove --clusterset atoll-clusterset --context broker")
	planes.Delete(t, on[lab.Broker], namespace("second"))
	eventually(t, "a pod that may run as root is forbidden", func() error { // the namespace has said so just now
		if err := on[lab.Broker].Create(t.Context(), objects.Pod(names.HubNamespace, "root"), client.DryRunAll); !apierrors.IsForbidden(err) {
			return fmt.Errorf("got %v", err)
		}
		return nil
	})
	must(t, "", deploy+" --host-network --low-ports --node-selector edge=true")
	letIn(true)
	must(t, "", deploy) // settings stay
	letIn(true)
	must(t, "", deploy+" --host-network=false --low-ports=false")
	letIn(false)
	refused(t, "", deploy+" --low-ports", "--low-ports requires --host-network")
	must(t, "", "hub remove --yes --context broker")
	expectGone(t, lab.Broker, namespace(names.HubNamespace))
}
