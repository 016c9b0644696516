package derived

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol

func families(f ...corev1.IPFamily) []corev1.IPFamily { return f }

// withFamilies returns an import with IP families and clusterset IPs.
func withFamilies(f []corev1.IPFamily, ips ...string) *mcsv1beta1.ServiceImport {
	return serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Spec.IPFamilies, i.Spec.IPs = f, ips })
}

func TestPrimaryFamilyIsFixed(t *testing.T) {
	const single, dual = corev1.IPFamilyPolicySingleStack, corev1.IPFamilyPolicyRequireDualStack
	for _, tt := range []struct {
		name             string
		have, want, spec []corev1.IPFamily
		policy           corev1.IPFamilyPolicy
		ips              []string // clusterset IPs; the Service has one for each family of have
	}{
		{"new", nil, families(v6, v4), families(v6, v4), dual, nil},
		{"the import's order changed", families(v4, v6), families(v6, v4), families(v4, v6), dual, []string{"10.0.0.1", "fd00::1"}},
		{"a family joins", families(v6), families(v6, v4), families(v6, v4), dual, []string{"fd00::1"}},
		{"a family joins in front", families(v4), families(v6, v4), families(v4, v6), dual, []string{"10.0.0.1"}},
		{"the second family leaves", families(v4, v6), families(v4), families(v4, v6), dual, []string{"10.0.0.1", "fd00::1"}},
		{"the primary family leaves", families(v4, v6), families(v6), families(v4, v6), dual, []string{"10.0.0.1", "fd00::1"}},
		{"one takes the other's place", families(v4), families(v6), families(v4, v6), dual, []string{"10.0.0.1"}},
		{"nobody says", families(v4), nil, families(v4), "", []string{"10.0.0.1"}},
	} {
		service := &corev1.Service{Spec: corev1.ServiceSpec{IPFamilies: tt.have}}
		for _, f := range tt.have {
			service.Spec.ClusterIPs = append(service.Spec.ClusterIPs, map[corev1.IPFamily]string{v4: "10.0.0.1", v6: "fd00::1"}[f])
		}
		Apply(service, withFamilies(tt.want), nil)
		if !slices.Equal(service.Spec.IPFamilies, tt.spec) || ptr.Deref(service.Spec.IPFamilyPolicy, "") != tt.policy {
			t.Errorf("%s: families %v, policy %v", tt.name, service.Spec.IPFamilies, ptr.Deref(service.Spec.IPFamilyPolicy, ""))
		}
		if diff := cmp.Diff(tt.ips, service.Spec.ClusterIPs); diff != "" {
			t.Errorf("%s: addresses (-want +got):\n%s", tt.name, diff)
		}
	}
}

func TestClustersetIPsFollowTheImportsFamilies(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{ClusterIPs: []string{"10.0.0.1", "fd00::1"}}}
	for _, tt := range []struct {
		families []corev1.IPFamily
		want     []string
	}{
		{families(v4, v6), []string{"10.0.0.1", "fd00::1"}},
		{families(v6, v4), []string{"fd00::1", "10.0.0.1"}},
		{families(v6), []string{"fd00::1"}},
	} {
		if got := ClustersetIPs(service, tt.families); !slices.Equal(got, tt.want) {
			t.Errorf("%v: got %v", tt.families, got)
		}
	}
}

// Pitfall 16: a re-created Service requests its former addresses.
func TestKeepIPs(t *testing.T) {
	service := &corev1.Service{}
	Apply(service, withFamilies(families(v4, v6)), nil)
	KeepIPs(service, []string{"fd00::1", "10.0.0.1"})
	if service.Spec.ClusterIP != "fd00::1" || service.Spec.IPFamilies[0] != v6 || len(service.Spec.ClusterIPs) != 2 {
		t.Errorf("spec %+v", service.Spec)
	}
}

// Pitfall 16: the Service never requests an address of a family that the import lacks, because
// the API server would refuse all addresses.
func TestFormerIPs(t *testing.T) {
	for _, tt := range []struct {
		name     string
		imp      *mcsv1beta1.ServiceImport
		families []corev1.IPFamily // resulting families of the import
		want     []string
	}{
		{"none yet", withFamilies(families(v4)), families(v4), nil},
		{"the Service was deleted", withFamilies(families(v6, v4), "fd00::1", "10.0.0.1"), families(v6, v4), []string{"fd00::1", "10.0.0.1"}},
		{"and a family left", withFamilies(families(v4, v6), "10.0.0.1", "fd00::1"), families(v6), []string{"fd00::1"}},
	} {
		before := strings.Join(tt.imp.Spec.IPs, ",")
		tt.imp.Spec.IPFamilies = tt.families
		if got := FormerIPs(tt.imp); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v", tt.name, got)
		}
		if after := strings.Join(tt.imp.Spec.IPs, ","); after != before {
			t.Errorf("%s: the import's addresses changed from %s to %s", tt.name, before, after)
		}
	}
}
