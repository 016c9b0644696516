// Package v1alpha1 holds the MultiClusterService: one object that shares a Service with other
// clusters and exposes it to the outside. The group and the fields are those of Karmada's
// proposal, so that manifests written for it apply unchanged.
//
// +kubebuilder:object:generate=true
// +groupName=networking.karmada.io
package v1alpha1
