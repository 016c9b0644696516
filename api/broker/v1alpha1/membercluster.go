package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberCluster is a member's description of itself. Its name is the cluster's
// id, and the Lease of the same name beside it is the member's heartbeat.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=5"
// +kubebuilder:resource:scope=Namespaced,shortName=mbr
// +kubebuilder:printcolumn:name="Kubernetes",type=string,JSONPath=`.spec.kubernetesVersion`
// +kubebuilder:printcolumn:name="Agent",type=string,JSONPath=`.spec.agentVersion`
// +kubebuilder:printcolumn:name="Region",type=string,JSONPath=`.spec.region`
// +kubebuilder:printcolumn:name="Advertise",type=string,JSONPath=`.spec.advertiseMode`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type MemberCluster struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              MemberClusterSpec `json:"spec"`
}

// AdvertiseMode says what addresses a member publishes as its endpoints.
type AdvertiseMode string

const (
	// AdvertisePods publishes the pods' addresses, for a flat network.
	AdvertisePods AdvertiseMode = "pods"
	// AdvertiseClusterIP publishes the Services' cluster IPs in place of their pods'
	// addresses, for a network in which only the ranges of Services are routed between
	// clusters. Headless Services, which have none, are published as their pods.
	AdvertiseClusterIP AdvertiseMode = "cluster-ip"
)

// MemberClusterSpec is what a member says of itself.
type MemberClusterSpec struct {
	// ClusterID is the cluster's id within the clusterset, and this object's name.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ClusterID string `json:"clusterID"`
	// ClusterUID is the UID of the cluster's kube-system namespace, which tells two
	// clusters apart that claim the same id.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	ClusterUID string `json:"clusterUID"`
	// KubernetesVersion is what the cluster's API server reports, such as v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// AgentVersion is the version of the agent that wrote this.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	AgentVersion string `json:"agentVersion,omitempty"`
	// Region is where the cluster is, for preference by locality.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Region string `json:"region,omitempty"`
	// PodCIDRs are the ranges of the cluster's pod addresses, where they are known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=43
	PodCIDRs []string `json:"podCIDRs,omitempty"`
	// ServiceCIDRs are the ranges of the cluster's Service addresses.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=43
	ServiceCIDRs []string `json:"serviceCIDRs,omitempty"`
	// IPFamilies are those in which the cluster gives Services addresses, the
	// default one first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`
	// AdvertiseMode says what addresses the member publishes as its endpoints.
	// +kubebuilder:validation:Enum=pods;cluster-ip
	// +kubebuilder:default=pods
	AdvertiseMode AdvertiseMode `json:"advertiseMode"`
	// State is Removed once the member is not one any more. The others then drop everything of it, as they do not when this object is deleted. When a
	// cluster joins under this id, its agent writes the object anew.
	// +optional
	// +kubebuilder:validation:Enum=Removed
	State MemberState `json:"state,omitempty"`
	// OverBudget are the cluster ids of other members that exceed this member's budget for one member: what is beyond it is imported late.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	OverBudget []string `json:"overBudget,omitempty"`
}

// MemberState is whether a member takes part in the clusterset. It does where it has none.
type MemberState string

// Removed tells whether the cluster is a member no longer.
func (m *MemberCluster) Removed() bool { return m.Spec.State == MemberRemoved }

// MemberRemoved is the state of a member that has left, or was removed by an administrator.
const MemberRemoved MemberState = "Removed"

// MemberClusterList is a list of MemberClusters.
//
// +kubebuilder:object:root=true
type MemberClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []MemberCluster `json:"items"`
}
