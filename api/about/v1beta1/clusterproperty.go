// Package v1beta1 defines KEP-2149's ClusterProperty, in which a cluster stores its id and its clusterset's name.
//
// +kubebuilder:object:generate=true
// +groupName=about.k8s.io
package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const (
	// ClusterIDProperty is the name of the ClusterProperty whose value is the
	// cluster's id (KEP-2149).
	ClusterIDProperty = "cluster.clusterset.k8s.io"
	// ClustersetProperty is the name of the ClusterProperty whose value is the name
	// of the clusterset that the cluster is a member of (KEP-2149).
	ClustersetProperty = "clusterset.k8s.io"
)

// GroupVersion is the API group and version of this package's kind.
var GroupVersion = schema.GroupVersion{Group: "about.k8s.io", Version: "v1beta1"}

// AddToScheme registers this package's kind with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &ClusterProperty{}, &ClusterPropertyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}

// ClusterProperty is one property of a cluster. The name of the object is the name of the property.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=1"
// +kubebuilder:resource:scope=Cluster
// +kubebuilder:metadata:annotations="api-approved.kubernetes.io=https://github.com/kubernetes/enhancements/tree/master/keps/sig-multicluster/2149-clusterid"
// +kubebuilder:printcolumn:name="value",type=string,JSONPath=`.spec.value`
// +kubebuilder:printcolumn:name="age",type=date,JSONPath=`.metadata.creationTimestamp`
type ClusterProperty struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ClusterPropertySpec `json:"spec"`
}

// ClusterPropertySpec contains a property's value.
type ClusterPropertySpec struct {
	// Value is the property's value.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=128000
	Value string `json:"value"`
}

// ClusterPropertyList is a list of ClusterProperties.
//
// +kubebuilder:object:root=true
type ClusterPropertyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ClusterProperty `json:"items"`
}
