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

// Meta returns metadata with a namespace, which may be empty, and a name.
func Meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// Namespace makes a namespace.
func Namespace(name string) *corev1.Namespace { return &corev1.Namespace{ObjectMeta: Meta("", name)} }

// Service makes a Service. The port 80 is named p80, and so on.
func Service(namespace, name string, ports ...int32) *corev1.Service {
	s := &corev1.Service{ObjectMeta: Meta(namespace, name)}
	for _, p := range ports {
		s.Spec.Ports = append(s.Spec.Ports, corev1.ServicePort{Name: fmt.Sprintf("p%d", p), Port: p})
	}
	return s
}

// ExternalName makes a Service of type ExternalName, which cannot be exported.
func ExternalName(namespace, name string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: Meta(namespace, name), Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.org"},
	}
}

// Slice makes a Service's EndpointSlice with ready endpoints: port 8080 for the Service's p80.
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

// Pod makes a pod without a security context, so the pod may run as root.
func Pod(namespace, name string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: Meta(namespace, name), Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "any", Image: "any"}}}}
}

// Policy makes a ValidatingAdmissionPolicy and its binding. The API server denies the given
// operations on a resource with a message unless the expression is true.
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

// Import makes a ServiceImport that no agent manages. Tests create such an import in conflict
// with Atoll, or use its key for a lookup.
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

// OnBroker returns the metadata of a member's object on the broker, with the label of the
// source cluster.
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

// Port makes a port of a record that matches the port of Service.
func Port(number int32) mcsv1beta1.ServicePort {
	return mcsv1beta1.ServicePort{Name: fmt.Sprintf("p%d", number), Protocol: corev1.ProtocolTCP, Port: number}
}

// Permissions makes the ConfigMap with the member permissions, labeled as Atoll's commands
// label it.
func Permissions(data map[string]string) *corev1.ConfigMap {
	config := &corev1.ConfigMap{ObjectMeta: Meta(Clusterset, names.MemberPermissions), Data: data}
	config.Labels = map[string]string{"app.kubernetes.io/managed-by": "atoll"}
	return config
}

// Record makes a member's ExportedService that was exported now.
func Record(id, namespace, service string, ports ...mcsv1beta1.ServicePort) *brokerv1alpha1.ExportedService {
	meta := OnBroker(id, names.Export(names.ClusterID(id), namespace, service))
	meta.Labels[names.LabelServiceNamespace], meta.Labels[names.LabelServiceName] = namespace, service
	meta.Annotations = map[string]string{names.AnnotationRevision: "1"}
	return &brokerv1alpha1.ExportedService{ObjectMeta: meta, Spec: brokerv1alpha1.ExportedServiceSpec{
		ClusterID: id, ServiceNamespace: namespace, ServiceName: service, ExportedAt: metav1.Now(), Type: mcsv1beta1.ClusterSetIP,
		Ports: ports, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, SessionAffinity: corev1.ServiceAffinityNone,
	}}
}

// Published makes a member's EndpointSlice on the broker, copied from a slice of its Service.
func Published(id, namespace, slice, service string, addresses ...string) *discoveryv1.EndpointSlice {
	s := Slice("", "", service, addresses...)
	s.ObjectMeta = OnBroker(id, names.BrokerSlice(names.ClusterID(id), namespace, slice))
	s.Labels[names.LabelServiceNamespace], s.Labels[names.LabelServiceName] = namespace, service
	s.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	s.Annotations = map[string]string{names.AnnotationSourceSlice: slice, names.AnnotationRevision: "1"}
	for i := range s.Endpoints {
		s.Endpoints[i].NodeName = nil // node names are not published
	}
	return s
}

// Entry makes a catalogue entry that names clusters in its label and its annotation.
func Entry(namespace, service, label, annotation string) *mcsv1beta1.ServiceImport {
	entry := Import(Clusterset, names.CatalogueEntry(namespace, service))
	entry.Labels = map[string]string{
		names.LabelManagedBy: names.AggregateManager, names.LabelServiceName: service, names.LabelServiceNamespace: namespace, names.LabelClusters: label,
	}
	entry.Annotations = map[string]string{names.AnnotationClusters: annotation}
	return entry
}
