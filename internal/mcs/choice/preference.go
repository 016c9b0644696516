package choice

import (
	"cmp"
	"errors"
	"slices"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Oldest returns the oldest of TrafficPolicies for one target, which applies, or nil.
func Oldest(policies []*trafficv1alpha1.TrafficPolicy) *trafficv1alpha1.TrafficPolicy {
	if len(policies) == 0 {
		return nil
	}
	return slices.MinFunc(policies, func(a, b *trafficv1alpha1.TrafficPolicy) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
}

// IsDefault reports whether a TrafficPolicy is the cluster's default.
func IsDefault(policy *trafficv1alpha1.TrafficPolicy) bool {
	return policy.Namespace == names.SystemNamespace && policy.Name == trafficv1alpha1.DefaultPolicy && len(policy.Spec.TargetRefs) == 0
}

// PropertiesOf returns the values of a member's ClusterProperties by name. The region that topology hints use is one, unless the
// cluster has a ClusterProperty of that name.
func PropertiesOf(member *brokerv1alpha1.MemberCluster) map[string]string {
	all := make(map[string]string, len(member.Spec.Properties)+1)
	if member.Spec.Region != "" {
		all[trafficv1alpha1.RegionProperty] = member.Spec.Region
	}
	for name, value := range member.Spec.Properties {
		all[name] = string(value)
	}
	return all
}

// Applied is the preference for an imported service, and where it is from.
type Applied struct {
	// Preference is nil if there is none.
	*trafficv1alpha1.Preference
	// Policy is the TrafficPolicy of this cluster that has it, or else Exporter is the cluster whose export has it.
	Policy   *trafficv1alpha1.TrafficPolicy
	Exporter names.ClusterID
	// Ignored is the cluster whose export has weights or fallback None that do not count here, or "".
	Ignored names.ClusterID
}

// PreferenceOf returns the preference for an imported service: that of the TrafficPolicy for its ServiceImport, or else of the
// oldest export, or else the cluster's default. Of another cluster's export, weights and fallback None count only if accepts
// says so: they could keep traffic from this cluster's own endpoints.
func PreferenceOf(own, byDefault *trafficv1alpha1.TrafficPolicy, exports []brokerv1alpha1.ExportedServiceSpec, self names.ClusterID, accepts func(names.ClusterID) bool) Applied {
	if own != nil {
		return Applied{Preference: &own.Spec.Preference, Policy: own}
	}
	var ignored names.ClusterID
	if len(exports) > 0 {
		oldest := OldestExport(exports)
		if p := oldest.Preference; p != nil {
			id := names.ClusterID(oldest.ClusterID)
			switch {
			case id == self || accepts(id) || len(p.Weights) == 0 && p.Fallback != trafficv1alpha1.FallbackNone:
				return Applied{Preference: p, Exporter: id}
			case len(p.ClusterSelectors) > 0:
				return Applied{Preference: &trafficv1alpha1.Preference{ClusterSelectors: p.ClusterSelectors}, Exporter: id, Ignored: id}
			}
			ignored = id // nothing is left of it, so it does not replace the default either
		}
	}
	if byDefault != nil {
		return Applied{Preference: &byDefault.Spec.Preference, Policy: byDefault, Ignored: ignored}
	}
	return Applied{Ignored: ignored}
}

// OldestExport returns the export whose properties apply (KEP-1645). There must be one.
func OldestExport(exports []brokerv1alpha1.ExportedServiceSpec) brokerv1alpha1.ExportedServiceSpec {
	return slices.MinFunc(exports, func(a, b brokerv1alpha1.ExportedServiceSpec) int {
		return cmp.Or(a.ExportedAt.Compare(b.ExportedAt.Time), cmp.Compare(a.ClusterID, b.ClusterID))
	})
}

// PolicyOf returns a preference for a service, and why it, or its weights, do not apply. A service that sends traffic by zone cannot
// have weights, nor one of which a cluster publishes its cluster IP: that is one endpoint for all its pods. The order and the fallback
// still apply then: another cluster must not be able to end a fallback None.
func PolicyOf(p *trafficv1alpha1.Preference, headless, trafficDistribution, clusterIPs bool) (*Policy, error) {
	switch {
	case p == nil, len(p.ClusterSelectors)+len(p.Weights) == 0:
		return nil, nil
	case headless:
		return nil, errHeadless
	}
	weightless := weightlessBecause(p, trafficDistribution, clusterIPs)
	if weightless != nil && len(p.ClusterSelectors) == 0 {
		return nil, weightless
	}
	policy := &Policy{Fallback: p.Fallback}
	for _, s := range p.ClusterSelectors {
		policy.Selectors = append(policy.Selectors, s.PropertySelector)
	}
	for _, w := range p.Weights {
		if weightless == nil {
			policy.Weights = append(policy.Weights, Weight{Cluster: names.ClusterID(w.Cluster), Selector: w.PropertySelector, Weight: w.Weight})
		}
	}
	if err := policy.Validate(); err != nil {
		return nil, err
	}
	return policy, weightless
}

// weightlessBecause returns why a preference's weights do not apply, or nil.
func weightlessBecause(p *trafficv1alpha1.Preference, trafficDistribution, clusterIPs bool) error {
	switch {
	case len(p.Weights) == 0:
		return nil
	case clusterIPs:
		return errors.New("the policy has weights, but a cluster that exports the service advertises its cluster IPs, so its pods cannot be counted")
	case trafficDistribution:
		return errors.New("the policy has weights, but the service has a trafficDistribution: use only one of them")
	}
	return nil
}

// errHeadless is IsHeadless.
var errHeadless = errors.New("the service is headless: DNS answers with the endpoints of all clusters (KEP-5939 draft)")

// IsHeadless reports whether a preference does not apply because the service is headless.
func IsHeadless(err error) bool { return errors.Is(err, errHeadless) }
