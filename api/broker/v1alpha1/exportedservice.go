package v1alpha1

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
)

// ExportedService is the export of one Service by one cluster. It contains all data with which other clusters
// merge the export with other exports of the same Service (KEP-1645, "Constraints and Conflict Resolution").
// The endpoints are in EndpointSlices in the same namespace.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=5"
// +kubebuilder:resource:scope=Namespaced,shortName=exsvc
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.serviceNamespace`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.serviceName`
// +kubebuilder:printcolumn:name="Cluster",type=string,JSONPath=`.spec.clusterID`
// +kubebuilder:printcolumn:name="Type",type=string,JSONPath=`.spec.type`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.metadata.annotations.atoll\.dev/state`
// +kubebuilder:printcolumn:name="Exported",type=date,JSONPath=`.spec.exportedAt`
type ExportedService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ExportedServiceSpec `json:"spec"`
}

// ExportedServiceSpec describes the exported Service.
//
// +kubebuilder:validation:XValidation:rule="(has(self.exportedLabels) ? self.exportedLabels.map(k, size(k) + size(self.exportedLabels[k])).sum() : 0) + (has(self.exportedAnnotations) ? self.exportedAnnotations.map(k, size(k) + size(self.exportedAnnotations[k])).sum() : 0) <= 65536",message="exported labels and annotations must have at most 65536 bytes in total"
type ExportedServiceSpec struct {
	// ClusterID is the id of the exporting cluster. A member may set only its own id.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ClusterID string `json:"clusterID"`
	// ServiceNamespace is the namespace of the Service in the member clusters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ServiceNamespace string `json:"serviceNamespace"`
	// ServiceName is the name of the Service. With Kubernetes 1.34 or later, the name may begin with a digit.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`
	ServiceName string `json:"serviceName"`
	// ExportedAt is the creation time of the ServiceExport. In a conflict, the oldest export wins.
	ExportedAt metav1.Time `json:"exportedAt"`

	// Type is Headless for a Service without a cluster IP, or else ClusterSetIP.
	// +kubebuilder:validation:Enum=ClusterSetIP;Headless
	Type mcsv1beta1.ServiceImportType `json:"type"`
	// Ports are the ports of the Service. The admission policy for members restricts the ports' names.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:XValidation:rule="self.all(p, p.port >= 1 && p.port <= 65535)",message="ports must be between 1 and 65535"
	// +kubebuilder:validation:XValidation:rule="self.all(p, !has(p.protocol) || p.protocol in ['TCP', 'UDP', 'SCTP'])",message="protocols must be TCP, UDP or SCTP"
	// +kubebuilder:validation:XValidation:rule="self.all(p, (!has(p.name) || size(p.name) <= 63) && (!has(p.appProtocol) || size(p.appProtocol) <= 317))",message="a port's name has at most 63 bytes, its application protocol at most 317"
	Ports []mcsv1beta1.ServicePort `json:"ports,omitempty"`
	// IPFamilies are the IP families of the Service, the primary one first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	// +kubebuilder:validation:XValidation:rule="size(self) < 2 || self[0] != self[1]",message="an IP family must not be repeated"
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`
	// SessionAffinity is the session affinity of the Service.
	// +optional
	// +kubebuilder:validation:Enum=ClientIP;None
	SessionAffinity corev1.ServiceAffinity `json:"sessionAffinity,omitempty"`
	// SessionAffinityConfig is the configuration of session affinity of the Service.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!has(self.clientIP) || !has(self.clientIP.timeoutSeconds) || self.clientIP.timeoutSeconds >= 1 && self.clientIP.timeoutSeconds <= 86400",message="the timeout must be between 1 and 86400 seconds"
	SessionAffinityConfig *corev1.SessionAffinityConfig `json:"sessionAffinityConfig,omitempty"`
	// InternalTrafficPolicy is the internal traffic policy of the Service.
	// +optional
	// +kubebuilder:validation:Enum=Cluster;Local
	InternalTrafficPolicy *corev1.ServiceInternalTrafficPolicy `json:"internalTrafficPolicy,omitempty"`
	// TrafficDistribution is the traffic distribution of the Service.
	// +optional
	// +kubebuilder:validation:Enum=PreferClose;PreferSameZone;PreferSameNode
	TrafficDistribution *string `json:"trafficDistribution,omitempty"`
	// ExportedLabels are the labels in the spec of the ServiceExport.
	// +optional
	// +kubebuilder:validation:MaxProperties=1000
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317 && size(self[k]) <= 63)",message="a label's key has at most 317 bytes, its value at most 63"
	ExportedLabels map[string]string `json:"exportedLabels,omitempty"`
	// ExportedAnnotations are the annotations in the spec of the ServiceExport.
	// +optional
	// +kubebuilder:validation:MaxProperties=1000
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) <= 317)",message="an annotation's key has at most 317 bytes"
	ExportedAnnotations map[string]string `json:"exportedAnnotations,omitempty"`
	// OnClusterLoss says whether importing clusters withdraw or keep this cluster's endpoints when the
	// cluster is lost. The default is withdraw.
	// +optional
	// +kubebuilder:validation:Enum=withdraw;keep
	OnClusterLoss string `json:"onClusterLoss,omitempty"`
	// Preference is the preference in the TrafficPolicy for the ServiceExport.
	// +optional
	Preference *trafficv1alpha1.Preference `json:"preference,omitempty"`
	// Drained is true if clients open no new connections to this cluster's endpoints while another cluster
	// can serve.
	// +optional
	Drained bool `json:"drained,omitempty"`
	// Scope is Clusterset (default) if clusters import the service, or Hub if only the hub uses the export.
	// +optional
	// +kubebuilder:validation:Enum=Clusterset;Hub
	Scope ExportScope `json:"scope,omitempty"`
	// Consumers are the ids of the clusters that may import the service from this cluster, according to the
	// policy that created the export. Empty means all clusters. The field applies while the policy is
	// missing, for example after the loss of the broker.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	Consumers []string `json:"consumers,omitempty"`
}

// Consumes reports whether a cluster may import the service from this cluster.
func (s *ExportedServiceSpec) Consumes(cluster string) bool {
	return len(s.Consumers) == 0 || slices.Contains(s.Consumers, cluster)
}

// Service returns the namespace and name of the exported Service in the member clusters.
func (s *ExportedServiceSpec) Service() types.NamespacedName {
	return types.NamespacedName{Namespace: s.ServiceNamespace, Name: s.ServiceName}
}

// ExportedServiceList is a list of ExportedServices.
//
// +kubebuilder:object:root=true
type ExportedServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ExportedService `json:"items"`
}
