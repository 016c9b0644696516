// Package v1alpha1 holds the kinds that Atoll keeps on a clusterset's broker.
//
// A clusterset is one namespace on the broker, and every object in it is
// written by the one member cluster that it is about. Members read all of them and
// merge them for themselves; nothing runs on the broker.
//
// +kubebuilder:object:generate=true
// +groupName=broker.atoll.dev
package v1alpha1
