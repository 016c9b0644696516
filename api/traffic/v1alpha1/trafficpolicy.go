package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// DefaultPolicy is the name of the cluster's default policy, which has no targets. It is in the namespace atoll-system.
	DefaultPolicy = "default"
	// SameAsImporter is the value of a property that stands for the value in the importing cluster (KEP-5939 draft).
	SameAsImporter = "@SameAsImporter@"
	// RegionProperty is the property that has the value of the agent's flag --region where a cluster has no ClusterProperty of the name.
	RegionProperty = "region"
)

// TrafficPolicy says from which clusters an importing cluster uses endpoints of a multi-cluster service. A policy for
// a ServiceImport applies in its own cluster. A policy for a ServiceExport applies in all importing clusters that
// have no policy for their ServiceImport. Its weights and its fallback None apply only where the exporting cluster
// owns the namespace, or the importing namespace accepts them. If exports have different policies, the policy of the
// oldest export applies. If two policies in a namespace have the same target, the older policy applies.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=1"
// +kubebuilder:resource:scope=Namespaced,shortName=tpol
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Accepted",type=string,JSONPath=`.status.targets[*].conditions[?(@.type=="Accepted")].status`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type TrafficPolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	// Spec is the desired preference.
	Spec TrafficPolicySpec `json:"spec"`
	// Status contains the result for each target.
	// +optional
	Status TrafficPolicyStatus `json:"status,omitempty"`
}

// TrafficPolicySpec is the desired preference of clusters.
type TrafficPolicySpec struct {
	// TargetRefs are the ServiceImports and ServiceExports, in the policy's namespace, to which the policy applies.
	// Only the cluster's default policy has no targets. The default policy has the name default and the namespace
	// atoll-system, and applies to all imported services without another policy. Other policies without targets have
	// no effect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	TargetRefs []LocalPolicyTargetReference `json:"targetRefs,omitempty"`

	Preference `json:",inline"`
}

// Preference is an order of clusters, and their weights.
type Preference struct {
	// ClusterSelectors select groups of clusters, the most preferred group first. A cluster belongs to the first
	// group that matches it. The first group with a usable endpoint gets the traffic. Without selectors, all clusters
	// are in one group.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ClusterSelectors []ClusterGroup `json:"clusterSelectors,omitempty"`

	// Fallback applies to clusters that no selector matches. All makes these clusters the last group. With None,
	// their endpoints get no traffic, even if no other endpoint is usable. Without clusterSelectors, the field has no
	// effect.
	// +optional
	// +kubebuilder:default=All
	// +kubebuilder:validation:Enum=All;None
	Fallback Fallback `json:"fallback,omitempty"`

	// Weights are the clusters' shares of the traffic, within the group that gets the traffic. If several weights
	// name or match a cluster, the first applies. A cluster with weight 0, or without a weight, gets traffic only if
	// no cluster with a weight above 0 has a usable endpoint. If all weights are 0, weights have no effect.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Weights []ClusterWeight `json:"weights,omitempty"`
}

// LocalPolicyTargetReference names an object in the policy's namespace, as Gateway API's type of the same name.
//
// +kubebuilder:validation:XValidation:rule="self.group == 'multicluster.x-k8s.io' && self.kind in ['ServiceImport', 'ServiceExport']",message="the target must be a ServiceImport or a ServiceExport of group multicluster.x-k8s.io"
type LocalPolicyTargetReference struct {
	// Group is the API group: multicluster.x-k8s.io.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Group string `json:"group"`
	// Kind is the object's kind: ServiceImport or ServiceExport.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`
	// Name is the name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`
}

// ClusterGroup selects a group of clusters.
type ClusterGroup struct {
	// PropertySelector matches the clusters of the group.
	// +required
	PropertySelector PropertySelector `json:"propertySelector"`
}

// PropertySelector matches clusters by their ClusterProperties (KEP-2149). All requirements must hold. A selector
// without requirements matches all clusters.
type PropertySelector struct {
	// MatchProperties are required values of properties, by the property's name. The value @SameAsImporter@ stands
	// for the value in the importing cluster. If the importing cluster does not have the property, this value matches
	// no cluster.
	// +optional
	// +kubebuilder:validation:MaxProperties=16
	// +kubebuilder:validation:XValidation:rule="self.all(k, size(k) > 0 && size(k) <= 253 && size(self[k]) <= 256)",message="the name of a property has 1 to 253 characters, and its value at most 256"
	MatchProperties map[string]string `json:"matchProperties,omitempty"`
	// MatchExpressions are requirements, as in a label selector.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	MatchExpressions []PropertyExpression `json:"matchExpressions,omitempty"`
}

// PropertyExpression is a requirement for one property, as in a label selector.
//
// +kubebuilder:validation:XValidation:rule="self.operator in ['In', 'NotIn'] ? has(self.values) && size(self.values) > 0 : !has(self.values) || size(self.values) == 0",fieldPath=".values",message="operators In and NotIn need values; operators Exists and DoesNotExist take no values"
type PropertyExpression struct {
	// Key is the name of the property.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Key string `json:"key"`
	// Operator says how the property relates to the values. NotIn and DoesNotExist also match clusters without the
	// property.
	// +required
	// +kubebuilder:validation:Enum=In;NotIn;Exists;DoesNotExist
	Operator metav1.LabelSelectorOperator `json:"operator"`
	// Values are the values for In and NotIn. The value @SameAsImporter@ stands for the value in the importing
	// cluster. If the importing cluster does not have the property, NotIn matches no cluster, because the value to
	// avoid is unknown.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MaxLength=256
	Values []string `json:"values,omitempty"`
}

// Fallback says what happens when no selected cluster has a usable endpoint.
type Fallback string

const (
	// FallbackAll makes all other clusters the last group.
	FallbackAll Fallback = "All"
	// FallbackNone means that endpoints of other clusters get no traffic.
	FallbackNone Fallback = "None"
)

// ClusterWeight is the weight of a cluster, or of each cluster that a selector matches.
//
// +kubebuilder:validation:XValidation:rule="has(self.cluster) != has(self.propertySelector)",message="set either cluster or propertySelector"
type ClusterWeight struct {
	// Cluster is a cluster id.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?([.][a-z0-9]([-a-z0-9]*[a-z0-9])?)?$')",message="a cluster's name is one or two DNS labels: lower-case letters, digits and inner hyphens"
	Cluster string `json:"cluster,omitempty"`
	// PropertySelector selects clusters by their properties. Each selected cluster has the weight.
	// +optional
	PropertySelector *PropertySelector `json:"propertySelector,omitempty"`
	// Weight is the cluster's share of the traffic, relative to the sum of the weights of clusters with usable
	// endpoints.
	// +required
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=1000000
	Weight int32 `json:"weight"`
}

// TrafficPolicyStatus is written by the agent of the policy's cluster.
type TrafficPolicyStatus struct {
	// Targets contain the result for each target, in the order of spec.targetRefs. For the cluster's default policy,
	// there is one entry without kind and name.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	Targets []TargetStatus `json:"targets,omitempty"`
}

// TargetStatus is the result of a policy for one target.
type TargetStatus struct {
	// Kind is the kind of the target: ServiceImport or ServiceExport.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind,omitempty"`
	// Name is the name of the target.
	// +optional
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
	// Conditions contain the condition Accepted, which says whether the policy applies to the target.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// ClusterSelectorResults are the selected clusters, as this cluster sees them, for each group in the order of
	// spec.clusterSelectors.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=16
	ClusterSelectorResults []ClusterSelectorResult `json:"clusterSelectorResults,omitempty"`
	// Weights are the clusters' shares of this cluster's connections, by cluster id. The list is empty if the policy
	// has no weights.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Weights []WeightStatus `json:"weights,omitempty"`
}

// ClusterSelectorResult contains the clusters that one selector selects.
type ClusterSelectorResult struct {
	// Clusters are the ids of clusters that export the service, match the selector and are neither drained nor silent.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`
}

// WeightStatus is the share of one cluster. A share is a number of endpoints, so only few shares are possible with
// few endpoints.
type WeightStatus struct {
	// Cluster is the cluster id.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Cluster string `json:"cluster"`
	// SharePercent is the cluster's part of the active endpoints of the service, in percent, rounded. If ports have
	// different shares, SharePercent is the share that differs most from the weights. It is absent if the cluster has
	// no usable endpoint.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=100
	SharePercent *int32 `json:"sharePercent,omitempty"`
	// Active is the number of the cluster's endpoints that get new connections.
	// +kubebuilder:validation:Minimum=0
	Active int32 `json:"active"`
}

// TrafficPolicyList is a list of TrafficPolicies.
//
// +kubebuilder:object:root=true
type TrafficPolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []TrafficPolicy `json:"items"`
}
