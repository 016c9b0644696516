package loadbalancer

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/test/objects"
)

// The CRD validates MultiClusterServices without an admission policy; this API server has none.
// Each error message says how to fix the object.
func TestDefinitionRefuses(t *testing.T) {
	const ns = "rules"
	policies := &admissionv1.ValidatingAdmissionPolicyList{}
	if err := hub.List(t.Context(), policies); err != nil || len(policies.Items) > 0 {
		t.Fatalf("admission policies exist: %v, error %v", policies.Items, err)
	}
	create(t, objects.Namespace(ns))
	for _, tt := range []struct{ spec, want string }{
		{"{types: [CrossCluster], range: {clusterNames: [member2]}}", ""}, // the document's example
		{"{types: [LoadBalance], ports: [{port: 80}]}", "the type is LoadBalancer"},
		{"{types: [Other]}", "must be CrossCluster or LoadBalancer"},
		{"{types: []}", "should have at least 1 item"},
		{"{}", "spec.types"},
		{"{types: [CrossCluster, CrossCluster]}", "Duplicate value"},
		{"{types: [CrossCluster, LoadBalancer], range: {clusterNames: [c1]}}", ""},
		{"{types: [LoadBalancer], range: {clusterNames: [c1]}}", "add CrossCluster"},
		{"{types: [LoadBalancer], range: {}}", ""}, // Go clients of Karmada's types write an empty range
		{"{types: [LoadBalancer], consumerClusters: [{name: c1}]}", "add CrossCluster"},
		{"{types: [LoadBalancer], providerClusters: [{name: c1}]}", ""},
		{"{types: [CrossCluster], consumerClusters: [{name: c1}], range: {clusterNames: [c1]}}", "have the same meaning"},
		{"{types: [CrossCluster], consumerClusters: [{name: c1}], providerClusters: [{name: c2.eu}]}", ""},
		{"{types: [CrossCluster], serviceProvisionClusters: [c1], serviceConsumptionClusters: [c2]}", ""}, // Karmada's deprecated fields
		{"{types: [CrossCluster], consumerClusters: [{name: c1}], serviceConsumptionClusters: [c2]}", ""},
		{"{types: [LoadBalancer], serviceConsumptionClusters: [c2]}", "add CrossCluster"},
		{"{types: [CrossCluster], serviceConsumptionClusters: [c2], range: {clusterNames: [c1]}}", "have the same meaning"},
		{"{types: [CrossCluster], serviceConsumptionClusters: [Member_2]}", "one or two DNS labels"},
		{"{types: [CrossCluster], serviceProvisionClusters: [a.b.c]}", "one or two DNS labels"},
		{"{types: [CrossCluster], range: {clusterNames: [Member_2]}}", "one or two DNS labels"},
		{"{types: [CrossCluster], consumerClusters: [{name: a.b.c}]}", "one or two DNS labels"},
		{"{types: [CrossCluster], providerClusters: [{name: \"\"}]}", "one or two DNS labels"},
		{"{types: [CrossCluster], ports: [{port: 70000}]}", "should be less than or equal to 65535"},
		{"{types: [CrossCluster], ports: [{port: -1}]}", "greater than or equal to 1"},
		{"{types: [CrossCluster], ports: [{}]}", "the name of the port, its number, or both"},
		{"{types: [CrossCluster], ports: [{name: p80}, {port: 81}, {name: p81, port: 81}]}", ""},
		{"{types: [CrossCluster], ports: [{name: nobody}]}", ""}, // the condition ServiceFound reports it
	} {
		u := &unstructured.Unstructured{}
		text := "apiVersion: networking.karmada.io/v1alpha1\nkind: MultiClusterService\nmetadata: {namespace: " + ns + ", name: web}\nspec: " + tt.spec
		noError(t, yaml.Unmarshal([]byte(text), &u.Object))
		err := hub.Create(t.Context(), u, client.DryRunAll)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("%s: %v, want %q", tt.spec, err, tt.want)
		}
	}
}
