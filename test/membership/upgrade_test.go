package membership

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

// agentOf returns the agent's Deployment.
func agentOf(t *testing.T, cluster string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: render.AgentName}}
	planes.Read(t, on[cluster], d)
	return d
}

// Settings of the flags stay when a cluster joins again or is upgraded. The registry comes from the broker.
func TestUpgradeKeepsSettings(t *testing.T) {
	deployBroker(t)
	must(t, "", "broker deploy --context broker --registry registry.example/ours")
	t.Cleanup(func() {
		noError(t, planes.Merge(context.Background(), on[lab.Broker], namespace(place), `{"metadata":{"annotations":{"`+names.AnnotationRegistry+`":null}}}`))
	})
	file := joinFile(t, "c1")
	must(t, file, "join - --wait 0 --context c1 --region eu --pod-cidr 10.1.0.0/16 --pod-cidr fd00:1::/64 --replicas 3 --agent-arg=--lease-timeout=60s --env HTTPS_PROXY=http://me:secret@proxy:3128 --resources dns.limits.memory=1Gi")
	t.Cleanup(func() { must(t, "", "leave --yes --context c1") })
	before := agentOf(t, "c1").Spec
	if image := before.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, "registry.example/ours/atoll-agent:") {
		t.Errorf("the image is %s", image)
	}
	same := func(how string) {
		t.Helper()
		if diff := cmp.Diff(before, agentOf(t, "c1").Spec); diff != "" {
			t.Errorf("%s: the Deployment has changed:\n%s", how, diff)
		}
	}
	must(t, file, "join - --wait 0 --context c1")
	same("joined again")
	const settings = "SETTING    VALUE\nagent-arg  --lease-timeout=60s\npod-cidr   10.1.0.0/16,fd00:1::/64\nregion     eu\nreplicas   3\nresources  dns.limits.memory=1Gi\n"
	if got := must(t, "", "get config --context c1"); got != settings {
		t.Errorf("get config:\n%s", got)
	}

	// A flag changes its setting only. A given value counts even if it is the default: a join file may name another registry.
	must(t, file, "join - --wait 0 --context c1 --region us --replicas 2 --registry "+render.DefaultRegistry)
	if got, want := must(t, "", "get config --context c1"), strings.NewReplacer("replicas   3\n", "replicas   2\n", "     eu\n", "     us\nregistry   "+render.DefaultRegistry+"\n").Replace(settings); got != want {
		t.Errorf("get config:\n%s", got)
	}
	must(t, file, "join - --wait 0 --context c1 --region eu --replicas 3 --registry=") // the join file's again
	same("changed and changed back")

	// No pods run here, so an upgrade is rolled back: objects that it has changed, created and deleted.
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: render.AgentName}}
	planes.Change(t, on["c1"], role, func(r *rbacv1.ClusterRole) { r.Rules = r.Rules[:1] }) // as if an older version had fewer rules
	planes.Delete(t, on["c1"], &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: render.AgentName}})
	refused(t, "", "upgrade broker c1 --registry other.example --wait 1s", "member c1: the Deployment atoll-agent is not available", "created Service atoll-system/atoll-agent", "deleted Service atoll-system/atoll-agent")
	same("rolled back")
	must(t, "", "upgrade broker")

	// What helm has installed, what no settings are stored of, and definitions without a way back: nothing changes.
	settled := agentOf(t, "c1")
	planes.Change(t, on["c1"], agentOf(t, "c1"), func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/managed-by"] = "Helm" })
	refused(t, "", "upgrade broker c1 --wait 1s", "nothing was changed", "Helm has installed the Deployment atoll-system/atoll-agent")
	planes.Change(t, on["c1"], agentOf(t, "c1"), func(d *appsv1.Deployment) { d.Labels["app.kubernetes.io/managed-by"] = "atoll" })
	config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: names.InstallSettings}}
	planes.Delete(t, on["c1"], config)
	refused(t, "", "upgrade broker c1 --wait 1s", "nothing was changed", "stored no settings", "broker token create c1 --replace")
	must(t, file, "join - --wait 0 --context c1 --region eu --pod-cidr 10.1.0.0/16,fd00:1::/64 --replicas 3 --agent-arg=--lease-timeout=60s --resources dns.limits.memory=1Gi")
	same("settings given again")
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "trafficpolicies.traffic.atoll.dev"}}
	planes.Change(t, on["c1"], crd, func(c *apiextensionsv1.CustomResourceDefinition) {
		c.Labels["atoll.dev/crd-revision"] = "0"
		c.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["later"] = apiextensionsv1.JSONSchemaProps{Type: "string"}
	})
	refused(t, "", "upgrade broker c1 --wait 1s", "nothing was changed", "the new definition has no field v1alpha1.later")
	if now := agentOf(t, "c1"); now.Generation != settled.Generation {
		t.Errorf("the Deployment has changed: %+v", now)
	}
	refused(t, "", "upgrade c2", "nothing was changed", "Atoll is not installed in this cluster")
	must(t, file, "join - --wait 0 --context c1") // the definition of this version
}
