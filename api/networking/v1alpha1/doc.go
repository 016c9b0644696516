// Package v1alpha1 defines MultiClusterService, which exposes a Service to other clusters and through load balancers.
// The group and the fields are those of Karmada's proposal, so that manifests written for it apply unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=networking.karmada.io
package v1alpha1
