package integration

import (
	"fmt"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// trafficPolicy is a policy for the import of a service.
func trafficPolicy(ns, name, service string) *trafficv1alpha1.TrafficPolicy {
	return &trafficv1alpha1.TrafficPolicy{ObjectMeta: objects.Meta(ns, name), Spec: trafficv1alpha1.TrafficPolicySpec{
		TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: "multicluster.x-k8s.io", Kind: "ServiceImport", Name: service}},
	}}
}

// The CRD refuses policies that have no meaning. Each error message says what is wrong.
func TestTrafficPolicyDefinitionRefuses(t *testing.T) {
	const ns = "traffic-rules"
	namespace(t, ns, "c1")
	const target = "targetRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport, name: web}]"
	expression := func(text string) string {
		return fmt.Sprintf("{clusterSelectors: [{propertySelector: {matchExpressions: [%s]}}]}", text)
	}
	for _, tt := range []struct{ spec, want string }{
		{"{}", ""}, // the default policy; elsewhere without effect
		{"{" + target + "}", ""},
		{"{targetRefs: [{group: multicluster.x-k8s.io, kind: ServiceExport, name: web}]}", ""},
		{"{targetRefs: [{group: multicluster.x-k8s.io, kind: Service, name: web}]}", "must be a ServiceImport or a ServiceExport"},
		{"{targetRefs: [{group: \"\", kind: ServiceImport, name: web}]}", "must be a ServiceImport or a ServiceExport"},
		{"{targetRefs: [{group: multicluster.x-k8s.io, kind: ServiceImport}]}", "name: Required"},
		{"{targetRefs: [" + repeated("{group: multicluster.x-k8s.io, kind: ServiceImport, name: web}", 17) + "]}", "must have at most 16 items"},
		{"{clusterSelectors: [{propertySelector: {matchProperties: {region: eu}}}, {propertySelector: {}}], fallback: None}", ""},
		{"{clusterSelectors: [{propertySelector: {matchProperties: {cluster.clusterset.k8s.io: \"@SameAsImporter@\"}}}]}", ""},
		{"{clusterSelectors: [{}]}", "propertySelector: Required"},
		{"{clusterSelectors: [" + repeated("{propertySelector: {}}", 17) + "]}", "must have at most 16 items"},
		{"{clusterSelectors: [{propertySelector: {matchProperties: {region: " + strings.Repeat("x", 257) + "}}}]}", "its value at most 256"},
		{"{clusterSelectors: [{propertySelector: {matchProperties: {\"\": eu}}}]}", "the name of a property has 1 to 253 characters"},
		{expression("{key: region, operator: In, values: [eu, us]}, {key: gpu, operator: Exists}"), ""},
		{expression("{key: region, operator: NotIn, values: [\"@SameAsImporter@\"]}, {key: gpu, operator: DoesNotExist, values: []}"), ""},
		{expression("{key: region, operator: In}"), "operators In and NotIn need values"},
		{expression("{key: region, operator: NotIn, values: []}"), "operators In and NotIn need values"},
		{expression("{key: region, operator: Exists, values: [eu]}"), "take no values"},
		{expression("{key: region, operator: DoesNotExist, values: [eu]}"), "take no values"},
		{expression("{key: region, operator: Like, values: [eu]}"), "Unsupported value"},
		{"{fallback: Some}", "Unsupported value"},
		{"{weights: [{cluster: c1, weight: 0}, {cluster: c2.eu, weight: 1000000}, {propertySelector: {}, weight: 1}]}", ""},
		{"{weights: [{cluster: c1, propertySelector: {}, weight: 1}]}", "either cluster or propertySelector"},
		{"{weights: [{weight: 1}]}", "either cluster or propertySelector"},
		{"{weights: [{cluster: c1}]}", "weight: Required"},
		{"{weights: [{cluster: c1, weight: -1}]}", "greater than or equal to 0"},
		{"{weights: [{cluster: c1, weight: 1000001}]}", "less than or equal to 1000000"},
		{"{weights: [{cluster: C_1, weight: 1}]}", "one or two DNS labels"},
		{"{weights: [{cluster: \"\", weight: 1}]}", "at least 1 char"},
		{"{weights: [" + repeated("{cluster: c1, weight: 1}", 65) + "]}", "must have at most 64 items"},
	} {
		u := &unstructured.Unstructured{}
		text := "apiVersion: traffic.atoll.dev/v1alpha1\nkind: TrafficPolicy\nmetadata: {namespace: " + ns + ", name: web}\nspec: " + tt.spec
		noError(t, yaml.Unmarshal([]byte(text), &u.Object))
		err := on["c1"].Create(t.Context(), u, client.DryRunAll)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.spec, err, tt.want)
		}
	}
	policy := trafficPolicy(ns, "web", "web")
	noError(t, on["c1"].Create(t.Context(), policy))
	if policy.Spec.Fallback != trafficv1alpha1.FallbackAll {
		t.Errorf("the default of fallback is %q", policy.Spec.Fallback)
	}
}

func repeated(text string, n int) string {
	return strings.TrimSuffix(strings.Repeat(text+", ", n), ", ")
}

// The roles "view", "edit" and "admin" of Kubernetes have the same rights on TrafficPolicies as on ServiceExports. The agent
// writes only their status, which kubectl shows.
func TestRightsOnTrafficPolicies(t *testing.T) {
	const ns = "traffic-rights"
	ctx := t.Context()
	namespace(t, ns, "c1")
	for _, role := range []string{"view", "edit", "admin"} {
		bind(t, "traffic-"+role, ns, rbacv1.RoleRef{Kind: "ClusterRole", Name: role})
	}
	policy := trafficPolicy(ns, "web", "web")
	create(t, "c1", policy)
	for _, role := range []string{"view", "edit", "admin"} {
		user := as(t, "traffic-"+role)
		eventually(t, role+" lists TrafficPolicies", func() error { // the roles are aggregated by a controller
			return user.List(ctx, &trafficv1alpha1.TrafficPolicyList{}, client.InNamespace(ns))
		})
		expectForbidden(t, role+": the status of a TrafficPolicy", user.Status().Update(ctx, policy.DeepCopy()))
		expectForbidden(t, role+": the cluster's default", user.Create(ctx, trafficPolicy("atoll-system", "default", "web"), client.DryRunAll))
		mine := trafficPolicy(ns, "by-"+role, "web")
		if role == "view" {
			expectForbidden(t, "view: creating a TrafficPolicy", user.Create(ctx, mine))
			continue
		}
		eventually(t, role+" creates a TrafficPolicy", func() error { return user.Create(ctx, mine) })
		planes.Succeeds(t, role+": deleting a TrafficPolicy", user.Delete(ctx, mine))
	}

	agent := as(t, agentUser)
	planes.Succeeds(t, "the agent lists TrafficPolicies", agent.List(ctx, &trafficv1alpha1.TrafficPolicyList{}))
	expectForbidden(t, "the agent changes a TrafficPolicy", agent.Update(ctx, policy.DeepCopy()))
	expectForbidden(t, "the agent creates a TrafficPolicy", agent.Create(ctx, trafficPolicy(ns, "by-agent", "web")))
	planes.Until(t, "the agent writes the status", on["c1"], policy, func() error {
		if len(policy.Status.Targets) != 1 || policy.Status.Targets[0].Conditions[0].Reason != trafficv1alpha1.ReasonTargetNotFound {
			return fmt.Errorf("the status is %+v", policy.Status)
		}
		return nil
	})

	config, err := theLab.RESTConfig("c1")
	noError(t, err)
	kube, err := kubernetes.NewForConfig(config)
	noError(t, err)
	table := &metav1.Table{}
	noError(t, kube.CoreV1().RESTClient().Get().AbsPath("/apis/traffic.atoll.dev/v1alpha1/namespaces/"+ns+"/trafficpolicies/web").
		SetHeader("Accept", "application/json;as=Table;g=meta.k8s.io;v=v1").Do(ctx).Into(table))
	if len(table.Rows) != 1 || len(table.Rows[0].Cells) != 3 || table.Rows[0].Cells[1] != "False" {
		t.Errorf("kubectl get shows %+v", table.Rows)
	}
}
