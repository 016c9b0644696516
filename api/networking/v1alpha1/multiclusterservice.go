package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MultiClusterService says how a Service is exposed beyond its cluster: to other clusters of
// the clusterset, by a load balancer, or both. It bears the Service's name and is in its
// namespace; Services of that name in the member clusters are one service.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=1"
// +kubebuilder:resource:scope=Namespaced,shortName=mcs
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Types",type=string,JSONPath=`.spec.types`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.loadBalancer.ingress[0].ip`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MultiClusterService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is what is wanted.
	Spec MultiClusterServiceSpec `json:"spec"`
	// Status is what there is: the load balancer's addresses and conditions.
	// +optional
	Status corev1.ServiceStatus `json:"status,omitempty"`
}

// MultiClusterServiceSpec is what is wanted of a MultiClusterService.
//
// +kubebuilder:validation:XValidation:rule="!has(self.range) || !has(self.range.clusterNames) || size(self.range.clusterNames) == 0 || 'CrossCluster' in self.types",fieldPath=".range",message="range names clusters that import the service: it needs CrossCluster among the types"
// +kubebuilder:validation:XValidation:rule="!has(self.consumerClusters) || size(self.consumerClusters) == 0 || 'CrossCluster' in self.types",fieldPath=".consumerClusters",message="consumerClusters names clusters that import the service: it needs CrossCluster among the types"
// +kubebuilder:validation:XValidation:rule="!has(self.consumerClusters) || size(self.consumerClusters) == 0 || !has(self.range) || !has(self.range.clusterNames) || size(self.range.clusterNames) == 0",fieldPath=".range",message="range and consumerClusters say the same thing: leave one of them out"
type MultiClusterServiceSpec struct {
	// Types says how the Service is exposed: CrossCluster, LoadBalancer or both.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Types []ExposureType `json:"types"`

	// Ports are those of the Service's that are exposed; no others are, neither to other
	// clusters nor by a load balancer. Without any, all are.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Ports []ExposurePort `json:"ports,omitempty"`

	// Range says which clusters import the Service, with the type CrossCluster. Without
	// any, all clusters of the clusterset do, those too that join later.
	// +optional
	Range ExposureRange `json:"range,omitempty"`

	// ProviderClusters are those whose endpoints the service has. Without any, it is all
	// clusters that have the Service, those too that join later.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	ProviderClusters []ClusterSelector `json:"providerClusters,omitempty"`

	// ConsumerClusters are those that import the Service, with the type CrossCluster. It is
	// the newer form of Range.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	ConsumerClusters []ClusterSelector `json:"consumerClusters,omitempty"`
}

// ExposureType says to whom a Service is exposed.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self in ['CrossCluster', 'LoadBalancer']",messageExpression="self == 'LoadBalance' ? 'the type is called LoadBalancer' : 'there are the types CrossCluster and LoadBalancer'"
type ExposureType string

const (
	// ExposureTypeCrossCluster exposes a Service to other clusters of the clusterset.
	ExposureTypeCrossCluster ExposureType = "CrossCluster"
	// ExposureTypeLoadBalancer exposes a Service by an external load balancer.
	ExposureTypeLoadBalancer ExposureType = "LoadBalancer"
)

// ExposurePort is a port of the Service's, by its name, its number or both.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0 || has(self.port)",message="a port is chosen by its name, its number or both"
type ExposurePort struct {
	// Name is the port's name in the Service.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name,omitempty"`
	// Port is the port's number in the Service.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// ExposureRange chooses clusters.
type ExposureRange struct {
	// ClusterNames are the clusters' ids in the clusterset.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens"
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// ClusterSelector chooses a cluster.
type ClusterSelector struct {
	// Name is the cluster's id in the clusterset.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens"
	Name string `json:"name"`
}

// MultiClusterServiceList is a list of MultiClusterServices.
//
// +kubebuilder:object:root=true
type MultiClusterServiceList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MultiClusterService `json:"items"`
}
