package derived

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// ClustersetIPs returns the Service's addresses in the order of families, none if it is headless. It drops a primary
// address of another family, which the Service cannot give up.
func ClustersetIPs(service *corev1.Service, families []corev1.IPFamily) []string {
	var ips []string
	for _, family := range families {
		for _, ip := range service.Spec.ClusterIPs {
			if ip != corev1.ClusterIPNone && familyOf(ip) == family {
				ips = append(ips, ip)
			}
		}
	}
	return ips
}

// FormerIPs are the clusterset IPs that an import's new Service should keep, all of the import's families.
func FormerIPs(imp *mcsv1beta1.ServiceImport) []string {
	if imp.Spec.Type == mcsv1beta1.Headless {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(imp.Spec.IPs), func(ip string) bool { return !slices.Contains(imp.Spec.IPFamilies, familyOf(ip)) })
}

// KeepIPs requests the addresses that a re-created Service had, at least one. The first one's family becomes the
// primary family, as the API demands. A family without an address gets a new one.
func KeepIPs(service *corev1.Service, ips []string) {
	service.Spec.ClusterIP = ips[0]
	service.Spec.ClusterIPs = slices.Clone(ips)
	service.Spec.IPFamilies = primaryFirst(service.Spec.IPFamilies, familyOf(ips[0]))
}

// FamiliesOf returns the families of addresses, in their order.
func FamiliesOf(ips []string) (all []corev1.IPFamily) {
	for _, ip := range ips {
		all = append(all, familyOf(ip))
	}
	return all
}

func familyOf(ip string) corev1.IPFamily {
	if strings.Contains(ip, ":") {
		return corev1.IPv6Protocol
	}
	return corev1.IPv4Protocol
}

// primaryFirst returns families with primary first, even if they do not include it.
func primaryFirst(families []corev1.IPFamily, primary corev1.IPFamily) []corev1.IPFamily {
	rest := slices.DeleteFunc(slices.Clone(families), func(f corev1.IPFamily) bool { return f == primary })
	return append([]corev1.IPFamily{primary}, rest...)
}

// applyFamilies requests the import's families. Those that an existing Service has stay, in its order, even if the import no
// longer has them: their addresses stay reserved, without endpoints (docs/adr/0025). The API fixes the primary family.
func applyFamilies(spec *corev1.ServiceSpec, families []corev1.IPFamily) {
	if len(families) == 0 {
		return // the exporters set none: keep the API server's choice
	}
	families = slices.Clone(families)
	for _, f := range spec.IPFamilies {
		if !slices.Contains(families, f) {
			families = append(families, f) // its address stays reserved
		}
	}
	if len(spec.IPFamilies) > 0 {
		families = primaryFirst(families, spec.IPFamilies[0])
	}
	spec.IPFamilies = families
	policy := corev1.IPFamilyPolicySingleStack
	if len(families) > 1 {
		policy = corev1.IPFamilyPolicyRequireDualStack
	}
	spec.IPFamilyPolicy = &policy
}
