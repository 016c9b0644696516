package validation

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Record returns the usable part of a cluster's export record, and what is left out. IdentityProblem decides whether
// the record is usable at all.
func Record(spec brokerv1alpha1.ExportedServiceSpec) (clean brokerv1alpha1.ExportedServiceSpec, refused []Refused) {
	clean = spec
	refuse := func(what, why string) { refused = append(refused, Refused{what, why}) }

	clean.Ports, refused = servicePorts(spec.Ports)
	clean.IPFamilies = nil
	for i, f := range spec.IPFamilies {
		switch {
		case f != corev1.IPv4Protocol && f != corev1.IPv6Protocol:
			refuse("IP family "+quote(string(f)), "the IP family must be IPv4 or IPv6")
		case slices.Contains(spec.IPFamilies[:i], f):
			refuse("IP family "+quote(string(f)), "the IP family is listed twice")
		default:
			clean.IPFamilies = append(clean.IPFamilies, f)
		}
	}
	switch spec.SessionAffinity {
	case "", corev1.ServiceAffinityNone, corev1.ServiceAffinityClientIP:
	default:
		refuse("session affinity "+quote(string(spec.SessionAffinity)), "the value must be None or ClientIP")
		clean.SessionAffinity = corev1.ServiceAffinityNone
	}
	if why := affinityProblem(clean.SessionAffinity, spec.SessionAffinityConfig); why != "" {
		refuse("session affinity config", why)
		clean.SessionAffinityConfig = nil
	}
	if p := spec.InternalTrafficPolicy; p != nil && *p != corev1.ServiceInternalTrafficPolicyCluster && *p != corev1.ServiceInternalTrafficPolicyLocal {
		refuse("internal traffic policy "+quote(string(*p)), "the value must be Cluster or Local")
		clean.InternalTrafficPolicy = nil
	}
	if d := spec.TrafficDistribution; d != nil && !slices.Contains(distributions, *d) {
		refuse("traffic distribution "+quote(*d), "the value must be PreferClose, PreferSameZone or PreferSameNode")
		clean.TrafficDistribution = nil
	}
	if spec.OnClusterLoss != "" && spec.OnClusterLoss != names.OnLossWithdraw && spec.OnClusterLoss != names.OnLossKeep {
		refuse("onClusterLoss "+quote(spec.OnClusterLoss), "the value must be withdraw or keep")
		clean.OnClusterLoss = ""
	}
	var metadata []Refused
	clean.ExportedLabels, clean.ExportedAnnotations, metadata = Metadata(spec.ExportedLabels, spec.ExportedAnnotations)
	return clean, append(refused, metadata...)
}

var distributions = []string{
	corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone, corev1.ServiceTrafficDistributionPreferSameNode,
}

// IdentityProblem says why a whole record is unusable, or "". A record must say what it exports, and since when. An
// unknown type or scope makes it unusable: a guess could change the service for everybody, or show it to the wrong
// clusters.
func IdentityProblem(spec brokerv1alpha1.ExportedServiceSpec) string {
	if _, err := names.ParseClusterID(spec.ClusterID); err != nil {
		return shorten(err.Error(), 200)
	}
	for _, name := range []string{spec.ServiceNamespace, spec.ServiceName} {
		if len(validation.IsDNS1123Label(name)) > 0 {
			return quote(name) + " is not the name of a Service or a namespace"
		}
	}
	switch spec.Type {
	case mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless:
	default:
		return "type " + quote(string(spec.Type)) + " is neither ClusterSetIP nor Headless"
	}
	switch spec.Scope {
	case "", brokerv1alpha1.ScopeClusterset, brokerv1alpha1.ScopeHub:
	default:
		return "scope " + quote(string(spec.Scope)) + " is neither Clusterset nor Hub"
	}
	if spec.ExportedAt.IsZero() { // it would win all conflicts (KEP-1645, "Constraints and Conflict Resolution")
		return "exportedAt is missing"
	}
	return ""
}

// affinityProblem says why a Service cannot have a session affinity's config, "" if it can.
func affinityProblem(affinity corev1.ServiceAffinity, config *corev1.SessionAffinityConfig) string {
	switch {
	case config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil:
		return ""
	case affinity != corev1.ServiceAffinityClientIP:
		return "the session affinity is not ClientIP"
	case *config.ClientIP.TimeoutSeconds < 1 || *config.ClientIP.TimeoutSeconds > MaxAffinitySeconds:
		return fmt.Sprintf("the timeout of %d seconds is not between 1 and %d seconds", *config.ClientIP.TimeoutSeconds, MaxAffinitySeconds)
	}
	return ""
}
