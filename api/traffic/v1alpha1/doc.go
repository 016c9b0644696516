// Package v1alpha1 holds the TrafficPolicy, which says which clusters an importing cluster prefers, and how it shares
// traffic between them. clusterSelectors follow the KEP-5939 draft, so that a later move to its API is a rename; an earlier draft
// had the fallback. Weights are Atoll's own.
//
// +kubebuilder:object:generate=true
// +groupName=traffic.atoll.dev
package v1alpha1
