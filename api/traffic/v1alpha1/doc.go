// Package v1alpha1 defines TrafficPolicy, which sets the clusters that an importing cluster prefers, and how traffic is
// shared between clusters. clusterSelectors follow the KEP-5939 draft, so that a later move to its API is a rename; an
// earlier draft had the fallback. Weights are Atoll's own.
//
// +kubebuilder:object:generate=true
// +groupName=traffic.atoll.dev
package v1alpha1
