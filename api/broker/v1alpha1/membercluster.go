package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// MemberCluster describes one member of the clusterset. Its name is the cluster id. The Lease of the same
// name is the heartbeat of the member.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=6"
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

// AdvertiseMode is the kind of addresses that a member publishes as endpoints.
type AdvertiseMode string

const (
	// AdvertisePods publishes the addresses of pods, for a flat network.
	AdvertisePods AdvertiseMode = "pods"
	// AdvertiseClusterIP publishes the cluster IPs of Services instead of the addresses of their pods, for
	// networks that route only Service ranges between clusters. Headless Services are published with their
	// pods' addresses.
	AdvertiseClusterIP AdvertiseMode = "cluster-ip"
)

// MemberClusterSpec describes a member.
type MemberClusterSpec struct {
	// ClusterID is the id of the cluster in the clusterset, and the name of this object.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	ClusterID string `json:"clusterID"`
	// ClusterUID is the UID of the namespace kube-system of the cluster. It distinguishes two clusters that
	// use the same id.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	ClusterUID string `json:"clusterUID"`
	// KubernetesVersion is the version that the API server of the cluster reports, such as v1.36.3.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	KubernetesVersion string `json:"kubernetesVersion,omitempty"`
	// AgentVersion is the version of the agent that wrote this object.
	// +optional
	// +kubebuilder:validation:MaxLength=128
	// +kubebuilder:validation:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	AgentVersion string `json:"agentVersion,omitempty"`
	// Region is the region of the cluster, for topology-aware routing.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	Region string `json:"region,omitempty"`
	// Properties are the values of the cluster's ClusterProperties (KEP-2149), by name. All members can read
	// them. The agent publishes the first 64 properties by name that have a qualified name and a value of at
	// most 256 bytes.
	// +optional
	// +kubebuilder:validation:MaxProperties=64
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) > 0 && size(k) <= 253)",message="the name of a property has 1 to 253 characters"
	Properties map[string]PropertyValue `json:"properties,omitempty"`
	// PodCIDRs are the pod address ranges of the cluster, if known.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	PodCIDRs []string `json:"podCIDRs,omitempty"`
	// ServiceCIDRs are the Service address ranges of the cluster.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=256
	// +kubebuilder:validation:items:MaxLength=43
	// +kubebuilder:validation:items:Pattern=`^[\pL\pM\pN\pP\pS ]*$`
	ServiceCIDRs []string `json:"serviceCIDRs,omitempty"`
	// IPFamilies are the IP families of Services in the cluster, the default one first.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=2
	// +kubebuilder:validation:items:Enum=IPv4;IPv6
	IPFamilies []corev1.IPFamily `json:"ipFamilies,omitempty"`
	// AdvertiseMode is the kind of addresses that the member publishes as endpoints.
	// +kubebuilder:validation:Enum=pods;cluster-ip
	// +kubebuilder:default=pods
	AdvertiseMode AdvertiseMode `json:"advertiseMode"`
	// State is Removed after the member was removed or has left. Other members then delete their imports from
	// the member. They keep the imports if this object is deleted. When a cluster joins with this id, its
	// agent writes the object again.
	// +optional
	// +kubebuilder:validation:Enum=Removed
	State MemberState `json:"state,omitempty"`
	// RemovedAt is the time when the member was removed. A restored backup can contain an old removal, so
	// members may not apply it. They apply the next removal, which changes this time.
	// +optional
	RemovedAt *metav1.Time `json:"removedAt,omitempty"`
	// OverBudget are the ids of members that exceed the budget of this member. Some changes of these members
	// arrive in this cluster late or not at all.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	// +kubebuilder:validation:items:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)?$`
	OverBudget []string `json:"overBudget,omitempty"`
	// Isolation says whether the broker refused this member's last test write in the name of another member.
	// It is empty if the result is unknown.
	// +optional
	// +kubebuilder:validation:Enum=Enforced;NotEnforced
	Isolation Isolation `json:"isolation,omitempty"`
}

// Isolation says whether a broker's admission policies limit members to their own objects.
type Isolation string

// Values of Isolation.
const (
	Isolated    Isolation = "Enforced"
	NotIsolated Isolation = "NotEnforced"
)

// PropertyValue is the value of a ClusterProperty: characters that can be printed, and spaces.
//
// +kubebuilder:validation:MaxLength=256
// +kubebuilder:validation:Pattern=`^[\pL\pM\pN\pP\pS ]+$`
type PropertyValue string

// MemberState is Removed, or empty for a member that takes part in the clusterset.
type MemberState string

// Removed reports whether the cluster is no longer a member.
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
