package v1alpha1

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// ServicePolicy tells agents which clusters provide the Service of a MultiClusterService, which clusters
// import it, and which ports are exposed. Its name is <service>.<namespace>. The hub writes ServicePolicies,
// and members read them.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:labels="atoll.dev/crd-revision=1"
// +kubebuilder:resource:scope=Namespaced,shortName=svcpol
// +kubebuilder:printcolumn:name="Namespace",type=string,JSONPath=`.spec.serviceNamespace`
// +kubebuilder:printcolumn:name="Service",type=string,JSONPath=`.spec.serviceName`
// +kubebuilder:printcolumn:name="Scope",type=string,JSONPath=`.spec.scope`
// +kubebuilder:printcolumn:name="Providers",type=string,JSONPath=`.spec.providers`
// +kubebuilder:printcolumn:name="Consumers",type=string,JSONPath=`.spec.consumers`
// +kubebuilder:printcolumn:name="State",type=string,JSONPath=`.metadata.annotations.atoll\.dev/state`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
type ServicePolicy struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`
	Spec              ServicePolicySpec `json:"spec"`
}

// ServicePolicySpec is the policy for one Service.
type ServicePolicySpec struct {
	// ServiceNamespace is the namespace of the Service in the member clusters.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ServiceNamespace string `json:"serviceNamespace"`
	// ServiceName is the name of the Service.
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	ServiceName string `json:"serviceName"`
	// Scope is Clusterset if clusters import the service, or Hub if only load balancers use it.
	// +kubebuilder:validation:Enum=Clusterset;Hub
	Scope ExportScope `json:"scope"`
	// Providers are the ids of the clusters that export the Service. Empty means all clusters that have the
	// Service.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Providers []string `json:"providers,omitempty"`
	// Consumers are the ids of the clusters that import the service, with the scope Clusterset. Empty means
	// all clusters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Consumers []string `json:"consumers,omitempty"`
	// Ports are the exposed ports. Empty means all ports.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=1000
	Ports []PolicyPort `json:"ports,omitempty"`
}

// ExportScope is the purpose of an export.
type ExportScope string

const (
	// ScopeClusterset is the scope of exports that members import. It is the default.
	ScopeClusterset ExportScope = "Clusterset"
	// ScopeHub is the scope of exports that only the hub's load balancers use.
	ScopeHub ExportScope = "Hub"
)

// PolicyPort selects a port by name, by number or by both.
type PolicyPort struct {
	// Name is the port's name in the Service.
	// +optional
	Name string `json:"name,omitempty"`
	// Port is the port's number in the Service.
	// +optional
	Port int32 `json:"port,omitempty"`
}

// Service is the Service that the policy is about, in the member clusters.
func (s *ServicePolicySpec) Service() types.NamespacedName {
	return types.NamespacedName{Namespace: s.ServiceNamespace, Name: s.ServiceName}
}

// Provides tells whether the Service is exported in a cluster that has it.
func (s *ServicePolicySpec) Provides(cluster string) bool {
	return len(s.Providers) == 0 || slices.Contains(s.Providers, cluster)
}

// Consumes tells whether a cluster imports the service. Without a policy every cluster does,
// and where the policy is about load balancers alone it says nothing of importing what people
// export by themselves.
func (s *ServicePolicySpec) Consumes(cluster string) bool {
	return s == nil || s.Scope != ScopeClusterset || len(s.Consumers) == 0 || slices.Contains(s.Consumers, cluster)
}

// Restrict returns what remains of an export: its ports as far as they are exposed. It returns false
// where the policy exposes none of them, so that nothing is exported. What is
// exported for the hub is restricted by the hub's policy, what is exported for the clusterset by
// the clusterset's.
func (s *ServicePolicySpec) Restrict(export ExportedServiceSpec) (ExportedServiceSpec, bool) {
	if s == nil || len(s.Ports) == 0 || s.Scope == ScopeHub && export.Scope != ScopeHub {
		return export, true
	}
	export.Ports = slices.DeleteFunc(slices.Clone(export.Ports), func(p mcsv1beta1.ServicePort) bool {
		return !slices.ContainsFunc(s.Ports, func(exposed PolicyPort) bool {
			return (exposed.Name == "" || exposed.Name == p.Name) && (exposed.Port == 0 || exposed.Port == p.Port)
		})
	})
	return export, len(export.Ports) > 0
}

// ServicePolicyList is a list of ServicePolicies.
//
// +kubebuilder:object:root=true
type ServicePolicyList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []ServicePolicy `json:"items"`
}
