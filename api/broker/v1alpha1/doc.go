// Package v1alpha1 defines the kinds that Atoll stores on a clusterset's broker.
//
// A clusterset is one namespace on the broker. ExportedServices and MemberClusters are
// each written by the one member cluster that they are about; ServicePolicies
// by the clusterset's hub, where there is one. Members read all of them and merge them for
// themselves: nothing else has to run beside the broker.
//
// +kubebuilder:object:generate=true
// +groupName=broker.atoll.dev
package v1alpha1
