package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// agentUser is the agent's user name in its own cluster.
const agentUser = "system:serviceaccount:atoll-system:atoll-agent"

// derivedLike is a Service like those that the agent creates.
func derivedLike(namespace, name string, change ...func(*corev1.Service)) *corev1.Service {
	s := service(namespace, name, 80)
	s.Labels = map[string]string{"atoll.dev/managed-by": "agent.atoll.dev", "multicluster.kubernetes.io/service-name": "web"}
	for _, f := range change {
		f(s)
	}
	return s
}

// importedLike is an EndpointSlice like those that the agent creates.
func importedLike(namespace, name string, change ...func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	s := slice(namespace, name, "web-clusterset", "10.1.1.1")
	s.Labels = map[string]string{
		discoveryv1.LabelManagedBy: "agent.atoll.dev", discoveryv1.LabelServiceName: "web-clusterset",
		"multicluster.kubernetes.io/service-name": "web", "multicluster.kubernetes.io/source-cluster": "c2",
	}
	for _, f := range change {
		f(s)
	}
	return s
}

// With a stolen agent token an attacker can write only objects that the agent manages.
func TestAgentWritesItsOwnObjectsOnly(t *testing.T) {
	const ns, clusterset = "privilege", "atoll-other-clusterset"
	ctx := t.Context()
	namespace(t, ns, "c1")
	broker := objects.Namespace(clusterset)
	broker.Labels = map[string]string{"atoll.dev/clusterset": clusterset}
	temporary(t, "c1", broker)
	agent := as(t, agentUser)

	// The cluster's EndpointSlice controller would delete this slice if its Service had a
	// selector.
	theirs, theirSlice, theirImport := service(ns, "shop", 80), slice(ns, "plain-x", "plain", "10.1.1.7"), objects.Import(ns, "theirs")
	create(t, "c1", service(ns, "plain", 80))
	theirs.Spec.Selector = map[string]string{"app": "shop"}
	theirSlice.Labels[discoveryv1.LabelManagedBy] = "endpointslice-controller.k8s.io"
	// One Service has the name of a derived Service, the other an owner of another
	// implementation.
	lookalike, another := service(ns, "other-clusterset", 80), service(ns, "derived-theirs", 80)
	create(t, "c1", theirImport)
	theirImport.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "east"}} // another implementation has imported it
	noError(t, on["c1"].Status().Update(ctx, theirImport))
	another.OwnerReferences = []metav1.OwnerReference{{APIVersion: mcsv1beta1.GroupVersion.String(), Kind: "ServiceImport", Name: "theirs", UID: theirImport.UID}}
	create(t, "c1", theirs, theirSlice, lookalike, another)
	changed := func(object client.Object, f func(client.Object)) client.Object {
		f(object)
		return object
	}
	taken := func(o client.Object) {
		labels := map[string]string{"atoll.dev/managed-by": "agent.atoll.dev", discoveryv1.LabelManagedBy: "agent.atoll.dev"}
		o.SetLabels(labels)
	}
	spec := func(f func(*corev1.ServiceSpec)) func(*corev1.Service) { return func(s *corev1.Service) { f(&s.Spec) } }
	for _, attempt := range []struct {
		what string
		do   error
	}{
		{"changing a user's Service", agent.Update(ctx, changed(theirs.DeepCopy(), func(o client.Object) { o.(*corev1.Service).Spec.Selector = nil }))},
		{"taking a user's Service over", agent.Update(ctx, changed(theirs.DeepCopy(), taken))},
		{"taking over a Service that looks like a derived Service", agent.Update(ctx, changed(lookalike.DeepCopy(), taken))},
		{"taking over another implementation's", agent.Update(ctx, changed(another.DeepCopy(), taken))},
		{"deleting another implementation's", agent.Delete(ctx, another.DeepCopy())},
		{"deleting a user's Service", agent.Delete(ctx, theirs.DeepCopy())},
		{"changing a user's slice", agent.Update(ctx, changed(theirSlice.DeepCopy(), func(o client.Object) {
			o.(*discoveryv1.EndpointSlice).Endpoints[0].Addresses = []string{"203.0.113.1"}
		}))},
		{"taking a user's slice over", agent.Update(ctx, changed(theirSlice.DeepCopy(), taken))},
		{"deleting a user's slice", agent.Delete(ctx, theirSlice.DeepCopy())},
		{"adding endpoints to a user's Service", agent.Create(ctx, importedLike(ns, "a.c2", func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "shop" }))},
		{"a slice without the agent's labels", agent.Create(ctx, slice(ns, "b.c2", "web-clusterset", "10.1.1.1"))},
		{"a slice of no cluster's", agent.Create(ctx, importedLike(ns, "c.c2", func(s *discoveryv1.EndpointSlice) {
			delete(s.Labels, "multicluster.kubernetes.io/source-cluster")
		}))},
		{"a slice in a clusterset", agent.Create(ctx, importedLike(clusterset, "d.c2"))},
		{"a Service in a clusterset", agent.Create(ctx, derivedLike(clusterset, "web-clusterset"))},
		{"a Service without the agent's labels", agent.Create(ctx, service(ns, "web-clusterset", 80))},
		{"a Service of another name", agent.Create(ctx, derivedLike(ns, "web"))},
		{"a Service with a selector", agent.Create(ctx, derivedLike(ns, "web-clusterset", spec(func(s *corev1.ServiceSpec) { s.Selector = map[string]string{"app": "shop"} })))},
		{"a Service at an external address", agent.Create(ctx, derivedLike(ns, "web-clusterset", spec(func(s *corev1.ServiceSpec) { s.ExternalIPs = []string{"8.8.8.8"} })))},
		{"a load balancer", agent.Create(ctx, derivedLike(ns, "web-clusterset", spec(func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeLoadBalancer })))},
		{"a node port", agent.Create(ctx, derivedLike(ns, "web-clusterset", spec(func(s *corev1.ServiceSpec) { s.Type = corev1.ServiceTypeNodePort })))},
		{"an external name", agent.Create(ctx, derivedLike(ns, "web-clusterset", spec(func(s *corev1.ServiceSpec) {
			s.Type, s.ExternalName = corev1.ServiceTypeExternalName, "example.org"
		})))},
		{"a load balancer's address", agent.Create(ctx, derivedLike(ns, "web-clusterset", spec(func(s *corev1.ServiceSpec) { s.LoadBalancerIP = "192.0.2.1" })))},
		{"an import without the agent's labels", agent.Create(ctx, objects.Import(ns, "web"))},
		{"changing a foreign import", agent.Patch(ctx, changed(theirImport.DeepCopy(), taken), client.MergeFrom(theirImport))},
		{"a foreign import's status", agent.Status().Patch(ctx, changed(theirImport.DeepCopy(), func(o client.Object) {
			o.(*mcsv1beta1.ServiceImport).Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c9"}}
		}), client.MergeFrom(theirImport))},
		{"deleting a foreign import", agent.Delete(ctx, theirImport.DeepCopy())},
		{"a user's export", agent.Create(ctx, export(ns, "shop"))},
		{"reading Secrets", agent.List(ctx, &corev1.SecretList{})},
		{"reading ConfigMaps", agent.List(ctx, &corev1.ConfigMapList{}, client.InNamespace("atoll-system"))},
		{"creating a pod", agent.Create(ctx, objects.Pod(ns, "x"))},
		{"creating a namespace", agent.Create(ctx, objects.Namespace("privilege-more"))},
	} {
		planes.Succeeds(t, attempt.what, isForbidden(attempt.do))
	}
	expectUntouched(t, "c1", theirs, theirSlice, theirImport, lookalike, another)
	for what, object := range map[string]client.Object{
		"a derived Service":                        derivedLike(ns, "web-clusterset"),
		"a headless derived Service":               derivedLike(ns, "db-clusterset", spec(func(s *corev1.ServiceSpec) { s.ClusterIP = corev1.ClusterIPNone })),
		"a derived Service with the fallback name": derivedLike(ns, "s-web-0123456789abcdef01234567"),
		"an imported slice":                        importedLike(ns, "web-x.c2"),
		"a slice of the fallback Service": importedLike(ns, "web-y.c2", func(s *discoveryv1.EndpointSlice) {
			s.Labels[discoveryv1.LabelServiceName] = "s-web-0123456789abcdef01234567"
		}),
		"an import with its label": func() client.Object { o := objects.Import(ns, "mine"); taken(o); return o }(),
		"an export for a policy":   func() client.Object { o := export(ns, "policy"); taken(o); return o }(),
	} {
		planes.Succeeds(t, what, agent.Create(ctx, object, client.DryRunAll))
	}
}

// Pods of other namespaces cannot use the priority class of the agents.
func TestPriorityClassIsTheAgents(t *testing.T) {
	const ns = "priority"
	namespace(t, ns, "c1")
	_, manifests := render.Member{}.Manifests() // the lab's clusters have all manifests except workloads
	for _, o := range manifests {
		if o.GetKind() == "PriorityClass" {
			temporary(t, "c1", o)
		}
	}
	try := func(namespace, class string) error {
		pod := objects.Pod(namespace, "x")
		pod.Spec.PriorityClassName = class
		pod.Spec.SecurityContext = &corev1.PodSecurityContext{
			RunAsNonRoot: ptr.To(true), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		pod.Spec.Containers[0].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: ptr.To(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
		return on["c1"].Create(t.Context(), pod, client.DryRunAll)
	}
	eventually(t, "Atoll's pods may use the priority class", func() error { return try("atoll-system", "atoll") }) // accounts come by a controller
	eventually(t, "pods without a priority class are allowed", func() error { return try(ns, "") })
	eventually(t, "the policy holds", func() error { return isForbidden(try(ns, "atoll")) })
	expectForbidden(t, "a pod of that priority", try(ns, "atoll"), "PriorityClass atoll is for atoll-agent and atoll-dns alone")
	expectForbidden(t, "one in kube-system", try("kube-system", "atoll"), "PriorityClass atoll")
}
