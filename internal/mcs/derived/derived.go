// Package derived builds the derived Service of an import: a Service without selector that has the clusterset
// IP, for kube-proxy.
package derived

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Apply sets all of service's fields that Atoll owns, and keeps the API server's defaults. A new service needs only its
// name and namespace. The cluster must support the import's IP families. Of the import's exported labels and annotations, only
// the allowed ones are set.
func Apply(service *corev1.Service, imp *mcsv1beta1.ServiceImport, allowed metadata.Keys) {
	metadata.Apply(&service.ObjectMeta, metadata.Of(&imp.ObjectMeta).ForService(allowed))
	service.Labels[names.LabelServiceName] = imp.Name
	service.Labels[names.LabelManagedBy] = names.AgentManager
	service.OwnerReferences = []metav1.OwnerReference{Owner(imp)}

	spec := &service.Spec
	spec.Type = corev1.ServiceTypeClusterIP
	spec.Selector = nil // with one, the built-in controller would add its own endpoints
	spec.Ports = ports(imp.Spec.Ports)
	spec.SessionAffinity = cmp.Or(imp.Spec.SessionAffinity, corev1.ServiceAffinityNone)
	spec.SessionAffinityConfig = affinityConfig(imp)
	spec.InternalTrafficPolicy = ptr.To(ptr.Deref(imp.Spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster))
	spec.TrafficDistribution = imp.Spec.TrafficDistribution
	clearExternal(spec)
	if imp.Spec.Type == mcsv1beta1.Headless {
		spec.ClusterIP = corev1.ClusterIPNone
		spec.ClusterIPs = []string{corev1.ClusterIPNone}
	}
	applyFamilies(spec, imp.Spec.IPFamilies)
}

// Unconfined returns an import whose derived Service has the internal traffic policy Local only if this cluster's own export has
// it, too, or else the same import. With Local, pods reach only endpoints on their own node: no other cluster may decide that.
func Unconfined(imp *mcsv1beta1.ServiceImport, self names.ClusterID, exports []brokerv1alpha1.ExportedServiceSpec) *mcsv1beta1.ServiceImport {
	const local = corev1.ServiceInternalTrafficPolicyLocal
	if ptr.Deref(imp.Spec.InternalTrafficPolicy, "") != local || slices.ContainsFunc(exports, func(e brokerv1alpha1.ExportedServiceSpec) bool {
		return e.ClusterID == self.String() && ptr.Deref(e.InternalTrafficPolicy, "") == local
	}) {
		return imp
	}
	same := *imp
	same.Spec.InternalTrafficPolicy = nil
	return &same
}

// Portless reports whether the API refuses the import's Service because it has no port. Only headless Services need
// none.
func Portless(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Spec.Type == mcsv1beta1.ClusterSetIP && len(imp.Spec.Ports) == 0
}

// WithOlderDistribution returns the import with PreferClose, for an API server without the newer traffic distribution
// values. It returns nil if the import has none of these.
func WithOlderDistribution(imp *mcsv1beta1.ServiceImport) *mcsv1beta1.ServiceImport {
	switch ptr.Deref(imp.Spec.TrafficDistribution, "") {
	case corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode:
		older := imp.DeepCopy()
		older.Spec.TrafficDistribution = ptr.To(corev1.ServiceTrafficDistributionPreferClose)
		return older
	default:
		return nil
	}
}

// clearExternal removes fields for clients outside of the cluster that a user has set. The API server or the member's
// admission policy would refuse the write.
func clearExternal(spec *corev1.ServiceSpec) {
	spec.ExternalIPs, spec.ExternalName, spec.ExternalTrafficPolicy = nil, "", ""
	spec.LoadBalancerIP, spec.LoadBalancerClass, spec.LoadBalancerSourceRanges = "", nil, nil
	spec.AllocateLoadBalancerNodePorts, spec.HealthCheckNodePort = nil, 0
}

// Owner is the owner reference to the import, for all its objects. It does not block the import's deletion.
func Owner(imp *mcsv1beta1.ServiceImport) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: mcsv1beta1.GroupVersion.String(),
		Kind:       mcsv1beta1.ServiceImportKindName,
		Name:       imp.Name,
		UID:        imp.UID,
	}
}

// OwnedBy reports whether service was created for the import of that name, the current or an earlier one. Its labels or
// its owner suffice: a user may have edited the other.
func OwnedBy(service *corev1.Service, importName string) bool {
	if service.Labels[names.LabelManagedBy] == names.AgentManager && service.Labels[names.LabelServiceName] == importName {
		return true
	}
	return slices.ContainsFunc(service.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == mcsv1beta1.ServiceImportKindName && o.Name == importName
	})
}

// MustReplace reports whether an update cannot make a Service what it should be. The API does not let a Service change
// between headless and not, and ExternalName Services have no addresses.
func MustReplace(have *corev1.Service, headless bool) bool {
	return have.Spec.Type == corev1.ServiceTypeExternalName || len(have.Spec.IPFamilies) == 0 ||
		(have.Spec.ClusterIP == corev1.ClusterIPNone) != headless
}

// PortNames returns the names of an import's ports in the derived Service and, for kube-proxy, in the imported slices.
// An unnamed port gets a name, even if it is the only one. Otherwise, a port that joins later would rename it, and
// break its traffic until both the Service and its slices are written. Of two ports with the same name, the younger
// export's is renamed, for the same reason.
func PortNames(ports []mcsv1beta1.ServicePort) []string {
	all := make([]string, 0, len(ports))
	taken := make(map[string]bool, len(ports))
	for _, p := range ports {
		name := cmp.Or(p.Name, fmt.Sprintf("%d-%s", p.Port, strings.ToLower(string(cmp.Or(p.Protocol, corev1.ProtocolTCP)))))
		for taken[name] {
			name += "-x"
		}
		taken[name] = true
		all = append(all, name)
	}
	return all
}

func ports(importPorts []mcsv1beta1.ServicePort) []corev1.ServicePort {
	var all []corev1.ServicePort
	for i, name := range PortNames(importPorts) {
		p := importPorts[i]
		all = append(all, corev1.ServicePort{
			Name:        name,
			Protocol:    cmp.Or(p.Protocol, corev1.ProtocolTCP),
			AppProtocol: p.AppProtocol,
			Port:        p.Port,
			// The API server's default; nothing reads the target port of a Service without selector.
			TargetPort: intstr.FromInt32(p.Port),
		})
	}
	return all
}

// affinityConfig sets the API's default, so that the API server's defaulting does not look like an edit.
func affinityConfig(imp *mcsv1beta1.ServiceImport) *corev1.SessionAffinityConfig {
	if imp.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return nil
	}
	timeout := corev1.DefaultClientIPServiceAffinitySeconds
	if c := imp.Spec.SessionAffinityConfig; c != nil && c.ClientIP != nil {
		timeout = ptr.Deref(c.ClientIP.TimeoutSeconds, timeout)
	}
	return &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &timeout}}
}
