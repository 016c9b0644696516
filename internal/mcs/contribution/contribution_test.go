package contribution

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

func TestValidate(t *testing.T) {
	derived := &corev1.Service{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "ServiceImport"}}}}
	for _, tt := range []struct {
		name    string
		service *corev1.Service
		valid   bool
		reason  mcsv1beta1.ServiceExportConditionReason
	}{
		{"no Service", nil, false, "NoService"},
		{"ExternalName", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName}}, false, "InvalidServiceType"},
		{"an import's derived Service", derived, false, "InvalidServiceType"},
		{"ClusterIP", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}, true, "Valid"},
		{"NodePort", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort}}, true, "Valid"},
		{"LoadBalancer", &corev1.Service{Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer}}, true, "Valid"},
		{"headless", &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}}, true, "Valid"},
	} {
		if got := Validate(tt.service); got.Valid != tt.valid || got.Reason != tt.reason || got.Message == "" {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
}

// Labels and annotations that cannot be exported are dropped and named. All others are
// exported.
func TestWarnings(t *testing.T) {
	export := &mcsv1beta1.ServiceExport{Spec: mcsv1beta1.ServiceExportSpec{
		ExportedLabels: map[string]string{"team": "platform team", "tier": "web"}, ExportedAnnotations: map[string]string{"a b": "c"},
	}}
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	spec, refused := Of("c1", nil, export, service, nil)
	if len(spec.ExportedLabels) != 1 || len(spec.ExportedAnnotations) != 0 || len(spec.Ports) != 1 || len(refused) != 2 {
		t.Errorf("exported is %+v, without %v", spec, refused)
	}
	if got, want := Warnings(export, refused), `Some parts of the Service or its ServiceExport are not exported: exported label "team": a valid label must`; !strings.HasPrefix(got, want) || !strings.Contains(got, "; further problems: 1. All other parts are exported.") {
		t.Errorf("the warning is %s", got)
	}
	if got := Warnings(export, nil); got != "" {
		t.Errorf("without refusals the warning is %s", got)
	}
}

func TestOf(t *testing.T) {
	created := metav1.Unix(1_700_000_000, 0)
	export := &mcsv1beta1.ServiceExport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", CreationTimestamp: created,
			Labels: map[string]string{"not": "exported"}, Annotations: map[string]string{"not": "exported"},
		},
		Spec: mcsv1beta1.ServiceExportSpec{
			ExportedLabels: map[string]string{"tier": "front"}, ExportedAnnotations: map[string]string{"note": "x"},
		},
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", CreationTimestamp: metav1.Unix(1, 0), Labels: map[string]string{"not": "exported"}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeNodePort, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{
				{Name: "http", Port: 80, NodePort: 30080, TargetPort: intstr.FromString("web"), AppProtocol: ptr.To("http")},
				{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
			},
			InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal),
			TrafficDistribution:   ptr.To("PreferClose"),
		},
	}
	want := brokerv1alpha1.ExportedServiceSpec{
		ClusterID: "c1", ServiceNamespace: "shop", ServiceName: "web", ExportedAt: created,
		Type: mcsv1beta1.ClusterSetIP,
		Ports: []mcsv1beta1.ServicePort{
			{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, AppProtocol: ptr.To("http")},
			{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53},
		},
		IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
		SessionAffinity:       corev1.ServiceAffinityNone,
		InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal),
		TrafficDistribution:   ptr.To("PreferClose"),
		ExportedLabels:        map[string]string{"tier": "front"},
		ExportedAnnotations:   map[string]string{"note": "x"},
	}
	got, _ := Of("c1", []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, export, service, nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contribution (-want +got):\n%s", diff)
	}
	for value, want := range map[string]string{"keep": "keep", "withdraw": "", "": "", "Keep": ""} {
		export.Annotations["atoll.dev/on-cluster-loss"] = value
		if got, _ := Of("c1", nil, export, service, nil); got.OnClusterLoss != want {
			t.Errorf("on loss %q: the record says %q", value, got.OnClusterLoss)
		}
		if known := value != "Keep"; strings.Contains(Warnings(export, nil), `neither "withdraw" nor "keep"`) == known {
			t.Errorf("on loss %q: %s", value, Warnings(export, nil))
		}
	}
	service.Spec.ClusterIP = corev1.ClusterIPNone
	if got, _ := Of("c1", []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, export, service, nil); got.Type != mcsv1beta1.Headless {
		t.Errorf("a Service without cluster IP has type %s", got.Type)
	}
}

// A headless Service without a selector is dual-stack by the API's default, even in a
// single-stack cluster.
func TestFamilies(t *testing.T) {
	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	for _, tt := range []struct {
		name                string
		service, has, wants []corev1.IPFamily
	}{
		{"one of one", []corev1.IPFamily{v6}, []corev1.IPFamily{v6}, []corev1.IPFamily{v6}},
		{"one of both", []corev1.IPFamily{v6}, []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v6}},
		{"both, in the Service's order", []corev1.IPFamily{v6, v4}, []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v6, v4}},
		{"both by default in an IPv4 cluster", []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v4}, []corev1.IPFamily{v4}},
		{"both by default in an IPv6 cluster", []corev1.IPFamily{v6, v4}, []corev1.IPFamily{v6}, []corev1.IPFamily{v6}},
		{"asked for, with slices of somebody's own", []corev1.IPFamily{v6}, []corev1.IPFamily{v4}, []corev1.IPFamily{v6}},
	} {
		service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone, IPFamilies: tt.service}}
		got, _ := Of("c1", tt.has, &mcsv1beta1.ServiceExport{}, service, nil)
		if diff := cmp.Diff(tt.wants, got.IPFamilies); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.name, diff)
		}
		if len(service.Spec.IPFamilies) != len(tt.service) {
			t.Errorf("%s: the Service has changed", tt.name)
		}
	}
}

// An export that an agent created for a policy about load balancers is for the hub only. A
// user's export is always for the clusterset.
func TestScope(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "a", Port: 1}, {Name: "b", Port: 2}}}}
	byPolicy := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"atoll.dev/managed-by": "agent.atoll.dev"}}}
	byPerson := &mcsv1beta1.ServiceExport{}
	clusterset, hub := brokerv1alpha1.ScopeClusterset, brokerv1alpha1.ScopeHub
	for _, tt := range []struct {
		name   string
		export *mcsv1beta1.ServiceExport
		policy brokerv1alpha1.ExportScope
		want   brokerv1alpha1.ExportScope
		ports  int
	}{
		{"made for clusters", byPolicy, clusterset, "", 1},
		{"made for the hub", byPolicy, hub, hub, 1},
		{"a person's, and a policy for clusters", byPerson, clusterset, "", 1},
		{"a person's, and a policy for the hub", byPerson, hub, "", 2},
		{"a person's alone", byPerson, "", "", 2},
		{"made, and the policy is not known", byPolicy, "", "", 2},
	} {
		var policy *brokerv1alpha1.ServicePolicySpec
		if tt.policy != "" {
			policy = &brokerv1alpha1.ServicePolicySpec{Scope: tt.policy, Ports: []brokerv1alpha1.PolicyPort{{Name: "a"}}, Consumers: []string{"c3"}}
		}
		got, _ := Of("c1", nil, tt.export, service, policy)
		if got.Scope != tt.want || len(got.Ports) != tt.ports || got.Consumes("c2") == (tt.name == "made for clusters") || !got.Consumes("c3") {
			t.Errorf("%s: scope %q, ports %v, consumers %v", tt.name, got.Scope, got.Ports, got.Consumers)
		}
	}
}

func TestAlsoApplied(t *testing.T) {
	entry := func(manager, subresource string, operation metav1.ManagedFieldsOperationType) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Subresource: subresource, Operation: operation}
	}
	own := entry("atoll-policy", "", metav1.ManagedFieldsOperationUpdate)
	for name, tt := range map[string]struct {
		meta metav1.ObjectMeta
		want bool
	}{
		"as it was made":   {metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{own, entry("atoll-export", "status", metav1.ManagedFieldsOperationApply)}}, false},
		"labelled by hand": {metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{own, entry("kubectl-label", "", metav1.ManagedFieldsOperationUpdate)}}, false},
		"kubectl apply":    {metav1.ObjectMeta{Annotations: map[string]string{corev1.LastAppliedConfigAnnotation: "{}"}}, true},
		"server-side":      {metav1.ObjectMeta{ManagedFields: []metav1.ManagedFieldsEntry{own, entry("argocd", "", metav1.ManagedFieldsOperationApply)}}, true},
	} {
		if got := AlsoApplied(&mcsv1beta1.ServiceExport{ObjectMeta: tt.meta}); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// If a policy names none of the Service's ports, nothing is exported, and the message lists the
// Service's ports.
func TestNoPortIsExposed(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}, {Name: "metrics", Port: 9090}}}}
	policy := &brokerv1alpha1.ServicePolicySpec{
		ServiceNamespace: "shop", ServiceName: "web", Scope: brokerv1alpha1.ScopeClusterset, Ports: []brokerv1alpha1.PolicyPort{{Port: 81}, {Name: "grpc"}},
	}
	spec, _ := Of("c1", nil, &mcsv1beta1.ServiceExport{}, service, policy)
	if _, some := policy.Restrict(spec); some || len(spec.Ports) > 0 {
		t.Errorf("contributed is %+v", spec)
	}
	const want = "The Service has none of the ports that MultiClusterService shop/web exposes. Ports of the Service: http 80, metrics 9090. Exposed ports: 81, grpc. " +
		"The Service is not exported, so clients in other clusters cannot reach this cluster's Service. Correct spec.ports of the MultiClusterService or the ports of the Service."
	if got := Withheld(service, policy); got != want {
		t.Errorf("message %q", got)
	}
	for range 1000 {
		policy.Ports = append(policy.Ports, brokerv1alpha1.PolicyPort{Name: strings.Repeat("p", 15)})
	}
	if got := Withheld(service, policy); len(got) > 500 || !strings.Contains(got, "(further ports: 997)") {
		t.Errorf("message %q", got)
	}
}
