package kit

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func fullService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web", UID: "uid", ResourceVersion: "1",
			Labels: map[string]string{"a": "b"}, Annotations: map[string]string{"c": "d"}, Finalizers: []string{"e"},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "kubectl"}},
			OwnerReferences: []metav1.OwnerReference{{Kind: "Gateway", Name: "g"}},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, ClusterIP: "10.0.0.1", ClusterIPs: []string{"10.0.0.1"},
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Selector: map[string]string{"app": "web"},
			Ports:                 []corev1.ServicePort{{Name: "http", Port: 80, NodePort: 30000, AppProtocol: ptr.To("http")}},
			SessionAffinity:       corev1.ServiceAffinityClientIP,
			SessionAffinityConfig: &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: ptr.To(int32(5))}},
			InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal), TrafficDistribution: ptr.To("PreferClose"),
			PublishNotReadyAddresses: true,
		},
		Status: corev1.ServiceStatus{LoadBalancer: corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}}},
	}
}

func TestAStrippedServiceContributesTheSame(t *testing.T) {
	export := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}}
	service := fullService()
	want, _ := contribution.Of("c1", nil, export, service, nil)
	validity := contribution.Validate(service)
	stripped, err := StripService(service)
	if err != nil {
		t.Fatal(err)
	}
	got, _ := contribution.Of("c1", nil, export, stripped.(*corev1.Service), nil)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("contribution (-want +got):\n%s", diff)
	}
	if got := contribution.Validate(service); got != validity {
		t.Errorf("validity %v, want %v", got, validity)
	}
	if service.Labels != nil || service.Annotations != nil || service.ManagedFields != nil || service.Spec.Selector != nil || len(service.Status.LoadBalancer.Ingress) > 0 {
		t.Errorf("left: %+v", service)
	}
	if service.ResourceVersion != "1" || service.UID != "uid" || len(service.Spec.ClusterIPs) != 1 {
		t.Errorf("lost: %+v", service)
	}
}

// Stripped labels and annotations of other writers would be lost at the next update of a
// derived Service.
func TestDerivedServicesAreNotStripped(t *testing.T) {
	for name, mark := range map[string]func(*corev1.Service){
		"by its label": func(s *corev1.Service) { s.Labels[names.LabelManagedBy] = names.AgentManager },
		"by its owner": func(s *corev1.Service) { s.OwnerReferences[0].Kind = mcsv1beta1.ServiceImportKindName },
	} {
		service := fullService()
		mark(service)
		want := service.DeepCopy()
		want.ManagedFields = nil
		stripped, err := StripService(service)
		if diff := cmp.Diff(want, stripped); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

func TestStripNamespace(t *testing.T) {
	going := metav1.Now()
	namespace := &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "uid", DeletionTimestamp: &going, Annotations: map[string]string{"a": "b"}, Labels: map[string]string{"a": "b", "atoll.dev/exports": "allowed"}},
		Status:     corev1.NamespaceStatus{Phase: corev1.NamespaceTerminating},
	}
	stripped, err := StripNamespace(namespace)
	want := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "uid", DeletionTimestamp: &going, Labels: map[string]string{"atoll.dev/exports": "allowed"}}}
	if diff := cmp.Diff(want, stripped); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestNotesOfDeletionsAreNotStripped(t *testing.T) {
	note := cache.DeletedFinalStateUnknown{Key: "shop/web"}
	for _, strip := range []func(any) (any, error){StripService, StripNamespace} {
		if got, err := strip(note); got != any(note) || err != nil {
			t.Errorf("became %v, %v", got, err)
		}
	}
}
