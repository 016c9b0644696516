// Package objects builds the Kubernetes objects that tests create.
package objects

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Clusterset is the namespace of the members' objects on the broker.
const Clusterset = "atoll-clusterset"

// Meta names an object in a namespace, or in none.
func Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Namespace makes a namespace.
func Namespace(name string) *corev1.Namespace { return &corev1.Namespace{ObjectMeta: Meta("", name)} }

// Service makes a Service, whose ports are named p80 and so on.
func Service(namespace, name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: Meta(namespace, name)}
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", p), Port: p})
	}
	return s
}

// ExternalName makes a Service that is another name, which can't be exported.
func ExternalName(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: Meta(namespace, name), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"},
	}
}

// Slice makes a Service's EndpointSlice: port 8080 for the Service's p80, at these addresses, which are ready.
func Slice(namespace, name, service string, addresses ...string) *discoveryv1.EndpointSlice {
	meta := Meta(namespace, name)
	meta.Labels = map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "test"}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressTypeIPv4,
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("p80"), Port: ptr.To(int32(8080)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{a}, NodeName: ptr.To("n1"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
		})
	}
	return s
}

// Export makes a ServiceExport.
func Export(namespace, name string) *mcsv1beta1.ServiceExport {
	return &mcsv1beta1.ServiceExport{ObjectMeta: Meta(namespace, name)}
}

// Pod makes a pod that asks for nothing, and so may run as root.
func Pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: Meta(namespace, name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "any", Image: "any"}}}}
}

// Policy makes an admission policy with its binding: an API server refuses what is done to a resource, with a message, unless an expression is true.
func Policy(name, resource, expression, message string, done ...admissionv1.OperationType) []client.Object {
	rule := admissionv1.NamedRuleWithOperations{RuleWithOperations: admissionv1.RuleWithOperations{
		Operations: done, Rule: admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
	}}
	return []client.Object{
		&admissionv1.ValidatingAdmissionPolicy{ObjectMeta: Meta("", name), Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{rule}},
			Validations:      []admissionv1.Validation{{Expression: expression, Message: message}},
		}},
		&admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: Meta("", name), Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		}},
	}
}

// Import makes a ServiceImport that nobody imports: what somebody creates in Atoll's place, or looks for.
func Import(namespace, name string) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: Meta(namespace, name), Spec: mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP, Ports: []mcsv1beta1.ServicePort{}},
	}
}

// Exposed makes a MultiClusterService of these types.
func Exposed(namespace, name string, types ...networkingv1alpha1.ExposureType) *networkingv1alpha1.MultiClusterService {
	return &networkingv1alpha1.MultiClusterService{
		ObjectMeta: Meta(namespace, name), Spec: networkingv1alpha1.MultiClusterServiceSpec{Types: types},
	}
}

// OnBroker names a member's object on the broker, and says whose it is.
func OnBroker(id, name string) metav1.ObjectMeta {
	meta := Meta(Clusterset, name)
	meta.Labels = map[string]string{names.LabelSourceCluster: id}
	return meta
}

// Member makes a cluster's MemberCluster.
func Member(id string) *brokerv1alpha1.MemberCluster {
	return &brokerv1alpha1.MemberCluster{ObjectMeta: OnBroker(id, id), Spec: brokerv1alpha1.MemberClusterSpec{
		ClusterID: id, ClusterUID: "u-" + id, AdvertiseMode: brokerv1alpha1.AdvertisePods,
	}}
}

// Lease makes a member's heartbeat.
func Lease(id string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: OnBroker(id, id)}
}

// Port makes a port of a record, as that of Service.
func Port(number int32) mcsv1beta1.ServicePort {
	return mcsv1beta1.ServicePort{Name: fmt.Sprintf("p%d", number), Protocol: corev1.ProtocolTCP, Port: number}
}

// Permissions makes what the broker's administrators permit members, as commands of Atoll's do.
func Permissions(data map[string]string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{ObjectMeta: Meta(Clusterset, names.MemberPermissions), Data: data}
	config.Labels = map[string]string{"app.kubernetes.io/managed-by": "atoll"}
	return config
}

// Record makes the record of a member's export, which is made now.
func Record(id, namespace, service string, ports ...mcsv1beta1.ServicePort) *brokerv1alpha1.ExportedService {
	meta := OnBroker(id, names.Export(names.ClusterID(id), namespace, service))
	meta.Labels[names.LabelServiceNamespace], meta.Labels[names.LabelServiceName] = namespace, service
	meta.Annotations = map[string]string{names.AnnotationRevision: "1"}
	return &brokerv1alpha1.ExportedService{ObjectMeta: meta, Spec: brokerv1alpha1.ExportedServiceSpec{
		ClusterID: id, ServiceNamespace: namespace, ServiceName: service, ExportedAt: metav1.Now(), Type: mcsv1beta1.ClusterSetIP,
		Ports: ports, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, SessionAffinity: corev1.ServiceAffinityNone,
	}}
}

// Published makes what a member has on the broker of one of its Service's slices.
func Published(id, namespace, slice, service string, addresses ...string) *discoveryv1.EndpointSlice {
	s := Slice("", "", service, addresses...)
	s.ObjectMeta = OnBroker(id, names.BrokerSlice(names.ClusterID(id), namespace, slice))
	s.Labels[names.LabelServiceNamespace], s.Labels[names.LabelServiceName] = namespace, service
	s.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	s.Annotations = map[string]string{names.AnnotationSourceSlice: slice, names.AnnotationRevision: "1"}
	for i := range s.Endpoints {
		s.Endpoints[i].NodeName = nil // which means nothing elsewhere
	}
	return s
}

// Entry makes an entry of the catalogue that names these clusters, in its label and its annotation.
func Entry(namespace, service, label, annotation string) *mcsv1beta1.ServiceImport {
	entry := Import(Clusterset, names.CatalogueEntry(namespace, service))
	entry.Labels = map[string]string{
		names.LabelManagedBy: names.AggregateManager, names.LabelServiceName: service, names.LabelServiceNamespace: namespace, names.LabelClusters: label,
	}
	entry.Annotations = map[string]string{names.AnnotationClusters: annotation}
	return entry
}
