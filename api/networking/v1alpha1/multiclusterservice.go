package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MultiClusterService exposes a Service to other clusters of the clusterset, to external clients through a
// load balancer, or both. It has the name and namespace of the Service. Services with this name and namespace
// in all member clusters form one service.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=2"
// +kubebuilder:resource:scope=Namespaced,shortName=mcs
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Types",type=string,JSONPath=`.spec.types`
// +kubebuilder:printcolumn:name="Address",type=string,JSONPath=`.status.loadBalancer.ingress[0].ip`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MultiClusterService struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the desired exposure.
	Spec MultiClusterServiceSpec `json:"spec"`
	// Status contains the addresses of the load balancer, and the conditions.
	// +optional
	Status corev1.ServiceStatus `json:"status,omitempty"`
}

// MultiClusterServiceSpec is the desired exposure of a Service.
//
// +kubebuilder:validation:XValidation:rule="!has(self.range) || !has(self.range.clusterNames) || size(self.range.clusterNames) == 0 || 'CrossCluster' in self.types",fieldPath=".range",message="range selects clusters that import the service: add CrossCluster to types"
// +kubebuilder:validation:XValidation:rule="!has(self.consumerClusters) || size(self.consumerClusters) == 0 || 'CrossCluster' in self.types",fieldPath=".consumerClusters",message="consumerClusters selects clusters that import the service: add CrossCluster to types"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceConsumptionClusters) || size(self.serviceConsumptionClusters) == 0 || 'CrossCluster' in self.types",fieldPath=".serviceConsumptionClusters",message="serviceConsumptionClusters selects clusters that import the service: add CrossCluster to types"
// +kubebuilder:validation:XValidation:rule="!has(self.consumerClusters) || size(self.consumerClusters) == 0 || !has(self.range) || !has(self.range.clusterNames) || size(self.range.clusterNames) == 0",fieldPath=".range",message="range and consumerClusters have the same meaning: set only one of them"
// +kubebuilder:validation:XValidation:rule="!has(self.serviceConsumptionClusters) || size(self.serviceConsumptionClusters) == 0 || !has(self.range) || !has(self.range.clusterNames) || size(self.range.clusterNames) == 0",fieldPath=".range",message="range and serviceConsumptionClusters have the same meaning: set only one of them"
type MultiClusterServiceSpec struct {
	// Types are the ways in which the Service is exposed: CrossCluster, LoadBalancer or both.
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=10
	Types []ExposureType `json:"types"`

	// Ports are the ports that are exposed to other clusters and by the load balancer. The default is all
	// ports of the Service.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Ports []ExposurePort `json:"ports,omitempty"`

	// Range selects the clusters that import the Service. It requires the type CrossCluster. The default is
	// all clusters, including clusters that join later.
	// +optional
	Range ExposureRange `json:"range,omitempty"`

	// ProviderClusters are the clusters that provide endpoints of the service. The default is all clusters
	// that have the Service, including clusters that join later.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	ProviderClusters []ClusterSelector `json:"providerClusters,omitempty"`

	// ConsumerClusters are the clusters that import the Service. The field requires the type CrossCluster,
	// and replaces Range.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	ConsumerClusters []ClusterSelector `json:"consumerClusters,omitempty"`

	// ServiceProvisionClusters is the deprecated form of ProviderClusters in manifests for Karmada. It
	// applies only if ProviderClusters is empty.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens"
	ServiceProvisionClusters []string `json:"serviceProvisionClusters,omitempty"`

	// ServiceConsumptionClusters is the deprecated form of ConsumerClusters in manifests for Karmada. It
	// applies only if ConsumerClusters is empty. It requires the type CrossCluster, and replaces Range.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens"
	ServiceConsumptionClusters []string `json:"serviceConsumptionClusters,omitempty"`
}

// ExposureType is a way in which a Service is exposed.
//
// +kubebuilder:validation:MaxLength=63
// +kubebuilder:validation:XValidation:rule="self in ['CrossCluster', 'LoadBalancer']",messageExpression="self == 'LoadBalance' ? 'the type is LoadBalancer, not LoadBalance' : 'the type must be CrossCluster or LoadBalancer'"
type ExposureType string

const (
	// ExposureTypeCrossCluster exposes a Service to other clusters of the clusterset.
	ExposureTypeCrossCluster ExposureType = "CrossCluster"
	// ExposureTypeLoadBalancer exposes a Service through an external load balancer.
	ExposureTypeLoadBalancer ExposureType = "LoadBalancer"
)

// ExposurePort selects a port of the Service by name, by number or by both.
//
// +kubebuilder:validation:XValidation:rule="has(self.name) && size(self.name) > 0 || has(self.port)",message="set the name of the port, its number, or both"
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

// ExposureRange selects clusters.
type ExposureRange struct {
	// ClusterNames are the cluster ids.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens"
	ClusterNames []string `json:"clusterNames,omitempty"`
}

// ClusterSelector selects a cluster.
type ClusterSelector struct {
	// Name is the cluster id.
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
