package derived

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
)

func serviceImport(change ...func(*mcsv1beta1.ServiceImport)) *mcsv1beta1.ServiceImport {
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:       mcsv1beta1.ClusterSetIP,
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []mcsv1beta1.ServicePort{
				{Port: 80, AppProtocol: ptr.To("http")}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP},
			},
			SessionAffinity:     corev1.ServiceAffinityClientIP,
			TrafficDistribution: ptr.To("PreferSameZone"),
		},
	}
	for _, c := range change {
		c(imp)
	}
	return imp
}

func TestApplyToANewService(t *testing.T) {
	got := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-clusterset"}}
	imp := serviceImport()
	imp.Labels, imp.Annotations = map[string]string{"theirs": "own"}, map[string]string{"multicluster.kubernetes.io/derived-service": "web-clusterset"}
	metadata.Apply(&imp.ObjectMeta, metadata.Set{
		Labels:      map[string]string{"team": "a", "service.kubernetes.io/service-proxy-name": "none"},
		Annotations: map[string]string{"doc": "here"},
	})
	Apply(got, imp, metadata.Keys{"*"})
	want := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-clusterset",
			Labels:      map[string]string{"multicluster.kubernetes.io/service-name": "web", "atoll.dev/managed-by": "agent.atoll.dev", "team": "a"},
			Annotations: map[string]string{"doc": "here", "atoll.dev/exported-metadata": `{"labels":["team"],"annotations":["doc"]}`},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "multicluster.x-k8s.io/v1beta1", Kind: "ServiceImport", Name: "web", UID: "uid",
			}},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP,
			Ports: []corev1.ServicePort{
				{Name: "80-tcp", Protocol: corev1.ProtocolTCP, AppProtocol: ptr.To("http"), Port: 80, TargetPort: intstr.FromInt32(80)},
				{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromInt32(53)},
			},
			SessionAffinity:       corev1.ServiceAffinityClientIP,
			SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(10800))}},
			InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyCluster),
			TrafficDistribution:   ptr.To("PreferSameZone"),
			IPFamilies:            []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:        ptr.To(corev1.IPFamilyPolicySingleStack),
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("service (-want +got):\n%s", diff)
	}
	// Labels and annotations that are no longer exported are removed. Those of other writers
	// stay.
	got.Labels["somebody"] = "else"
	Apply(got, serviceImport(), nil)
	if want := map[string]string{"multicluster.kubernetes.io/service-name": "web", "atoll.dev/managed-by": "agent.atoll.dev", "somebody": "else"}; !maps.Equal(got.Labels, want) || len(got.Annotations) != 0 {
		t.Errorf("then labels %v, annotations %v", got.Labels, got.Annotations)
	}
}

// Pitfall 10, and edits: Apply repairs every field that Atoll owns. A second Apply changes
// nothing.
func TestApplyRightsEdits(t *testing.T) {
	service := &corev1.Service{}
	Apply(service, serviceImport(), nil)
	want := service.DeepCopy()
	service.Spec.Selector = map[string]string{"app": "web"}
	service.Spec.Ports = service.Spec.Ports[:1]
	service.Spec.SessionAffinity = corev1.ServiceAffinityNone
	service.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
	service.Spec.TrafficDistribution = nil
	service.Spec.ExternalIPs = []string{"192.0.2.1"}
	service.Spec.Type, service.Spec.ExternalName, service.Spec.LoadBalancerIP = corev1.ServiceTypeLoadBalancer, "example.org", "192.0.2.2"
	service.Spec.ExternalTrafficPolicy, service.Spec.HealthCheckNodePort = corev1.ServiceExternalTrafficPolicyLocal, 30000
	service.Spec.LoadBalancerClass, service.Spec.LoadBalancerSourceRanges = ptr.To("example.org/any"), []string{"192.0.2.0/24"}
	service.Spec.AllocateLoadBalancerNodePorts = ptr.To(true)
	service.OwnerReferences = nil
	service.Labels = map[string]string{"somebody": "else"}
	Apply(service, serviceImport(), nil)
	want.Labels["somebody"] = "else"
	if diff := cmp.Diff(want, service); diff != "" {
		t.Errorf("service (-want +got):\n%s", diff)
	}
	again := service.DeepCopy()
	Apply(again, serviceImport(), nil)
	if !equality.Semantic.DeepEqual(service, again) {
		t.Error("the second Apply changed the Service")
	}
}

func TestOwnedByEitherLabelsOrOwner(t *testing.T) {
	service := &corev1.Service{}
	Apply(service, serviceImport(), nil)
	labelled, owned, neither := service.DeepCopy(), service.DeepCopy(), service.DeepCopy()
	labelled.OwnerReferences, owned.Labels = nil, nil
	neither.OwnerReferences, neither.Labels = nil, map[string]string{"multicluster.kubernetes.io/service-name": "web"}
	if !OwnedBy(labelled, "web") || !OwnedBy(owned, "web") || OwnedBy(neither, "web") || OwnedBy(service, "api") {
		t.Errorf("labelled %v, owned %v, neither %v, another %v",
			OwnedBy(labelled, "web"), OwnedBy(owned, "web"), OwnedBy(neither, "web"), OwnedBy(service, "api"))
	}
}

func TestMustReplace(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*corev1.Service)
		want   bool
	}{
		"as it should be":      {func(*corev1.Service) {}, false},
		"another type":         {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeNodePort }, false},
		"ExternalName":         {func(s *corev1.Service) { s.Spec = corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName} }, true},
		"headless":             {func(s *corev1.Service) { s.Spec.ClusterIP = corev1.ClusterIPNone }, true},
		"another family first": {func(s *corev1.Service) { s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv6Protocol} }, false},
	} {
		service := &corev1.Service{}
		Apply(service, serviceImport(), nil)
		service.Spec.ClusterIP = "10.0.0.1"
		tt.change(service)
		if got := MustReplace(service, false); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestApplyHeadless(t *testing.T) {
	service := &corev1.Service{}
	Apply(service, serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Spec.Type = mcsv1beta1.Headless }), nil)
	if service.Spec.ClusterIP != corev1.ClusterIPNone || len(ClustersetIPs(service, []corev1.IPFamily{corev1.IPv4Protocol})) != 0 {
		t.Errorf("spec %+v", service.Spec)
	}
}

// Pitfall 11: the name of a port does not depend on later ports, which belong to younger
// exports. Otherwise kube-proxy would find no endpoints while the Service has the new name and
// the slices have the old one.
func TestPortNames(t *testing.T) {
	ports := []mcsv1beta1.ServicePort{{Port: 80}, {Name: "80-tcp", Port: 81}, {Name: "80-tcp-x", Port: 82}, {Name: "http", Port: 83}}
	want := []string{"80-tcp", "80-tcp-x", "80-tcp-x-x", "http"}
	for n := range len(ports) + 1 {
		if got := PortNames(ports[:n]); !slices.Equal(got, want[:n]) {
			t.Errorf("of %d: %q", n, got)
		}
	}
	if got := PortNames([]mcsv1beta1.ServicePort{{Name: "53-udp", Port: 54}, {Port: 53, Protocol: corev1.ProtocolUDP}}); !slices.Equal(got, []string{"53-udp", "53-udp-x"}) {
		t.Errorf("an older port lost its own name: %q", got)
	}
}
