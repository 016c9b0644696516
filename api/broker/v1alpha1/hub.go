package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// HubName is the name of the one Hub of a clusterset.
const HubName = "hub"

// Hub is what the clusterset's hub says of its ServicePolicies: without its word one that is
// missing means nothing, for the broker may have been restored or made anew.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=1"
// +kubebuilder:resource:scope=Namespaced
// +kubebuilder:printcolumn:name="Policies",type=integer,JSONPath=`.spec.policies`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type Hub struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              HubSpec `json:"spec"`
}

// HubSpec is what a hub says.
type HubSpec struct {
	// Policies is the number of ServicePolicies that there are.
	Policies int32 `json:"policies"`
	// Digest is that of their names: the exclusive or of the SHA-256 of each, in hexadecimal digits.
	Digest string `json:"digest"`
}

// HubList is a list of Hubs.
//
// +kubebuilder:object:root=true
type HubList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Hub `json:"items"`
}
