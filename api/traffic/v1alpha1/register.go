package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupVersion is the API group and version of this package's kinds.
var GroupVersion = schema.GroupVersion{Group: "traffic.atoll.dev", Version: "v1alpha1"}

// Names of the kind TrafficPolicy.
const (
	TrafficPolicyKind     = "TrafficPolicy"
	TrafficPolicyResource = "trafficpolicies"
)

// AddToScheme registers this package's kinds with a scheme.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(GroupVersion, &TrafficPolicy{}, &TrafficPolicyList{})
	metav1.AddToGroupVersion(scheme, GroupVersion)
	return nil
}
