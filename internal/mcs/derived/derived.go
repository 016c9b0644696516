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

	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Apply sets everything in service that Atoll decides, and leaves the rest as
// the API server filled it in. A new service needs its name and namespace only.
// The import's IP families must be ones that the cluster has.
func Apply(service *corev1.Service, imp *mcsv1beta1.ServiceImport) {
	metadata.Apply(&service.ObjectMeta, metadata.Of(&imp.ObjectMeta).ForService())
	service.Labels[names.LabelServiceName] = imp.Name
	service.Labels[names.LabelManagedBy] = names.AgentManager
	service.OwnerReferences = []metav1.OwnerReference{Owner(imp)}

	spec := &service.Spec
	spec.Type = corev1.ServiceTypeClusterIP
	spec.Selector = nil // with one, the built-in controller would add endpoints of its own
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

// Portless tells whether the API would refuse the import's Service for want of a port, which a headless one
// alone needs not have.
func Portless(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Spec.Type == mcsv1beta1.ClusterSetIP && len(imp.Spec.Ports) == 0
}

// WithOlderDistribution returns the import as an API server can take it that does not know the newer values
// of a Service's traffic distribution: with PreferClose, the one that it knows. It returns nil where the
// import has none of these.
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

// clearExternal removes fields for clients outside of the cluster that somebody has set. The API server refuses most of it
// on a Service of type ClusterIP, and the member's admission policy refuses the agent the rest.
func clearExternal(spec *corev1.ServiceSpec) {
	spec.ExternalIPs, spec.ExternalName, spec.ExternalTrafficPolicy = nil, "", ""
	spec.LoadBalancerIP, spec.LoadBalancerClass, spec.LoadBalancerSourceRanges = "", nil, nil
	spec.AllocateLoadBalancerNodePorts, spec.HealthCheckNodePort = nil, 0
}

// Owner is the reference to the import on everything that is made for it. It does
// not block the import's deletion.
func Owner(imp *mcsv1beta1.ServiceImport) metav1.OwnerReference {
	return metav1.OwnerReference{
		APIVersion: mcsv1beta1.GroupVersion.String(),
		Kind:       mcsv1beta1.ServiceImportKindName,
		Name:       imp.Name,
		UID:        imp.UID,
	}
}

// OwnedBy tells whether service was made for the import of that name, this one or an
// earlier one. Either its labels or its owner say so: somebody may have edited the other.
func OwnedBy(service *corev1.Service, importName string) bool {
	if service.Labels[names.LabelManagedBy] == names.AgentManager && service.Labels[names.LabelServiceName] == importName {
		return true
	}
	return slices.ContainsFunc(service.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == mcsv1beta1.ServiceImportKindName && o.Name == importName
	})
}

// MustReplace tells whether an existing Service can't become what it should be by an
// update: the API does not let a Service begin or cease to be headless, and one of type
// ExternalName has no address at all.
func MustReplace(have *corev1.Service, headless bool) bool {
	return have.Spec.Type == corev1.ServiceTypeExternalName || len(have.Spec.IPFamilies) == 0 ||
		(have.Spec.ClusterIP == corev1.ClusterIPNone) != headless
}

// PortNames returns the names that the ports of an import have in the derived Service and,
// for kube-proxy, in the imported slices of one with a clusterset IP. They are the ports' own;
// one without gets one, even if it is the only one, since a Service with several ports can't
// have one without: a port that joins later must not rename one that has traffic, for the
// Service and its slices are not written in one moment. That is also why of two that would
// have one name it is the later one, the younger export's, that gives way.
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
			// Nobody reads the target port of a Service without selector; this is what
			// the API server would fill in.
			TargetPort: intstr.FromInt32(p.Port),
		})
	}
	return all
}

// affinityConfig writes the API's default out, so that the API server's filling it
// in does not look like an edit.
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
