package imported

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// The import has the addresses of its derived Service, and keeps them while that is gone or of a wrong kind.
func TestAddresses(t *testing.T) {
	const v4 = corev1.IPv4Protocol
	usual, other, headless := names.DerivedServices("web", false)[0], names.DerivedServices("web", false)[1], names.DerivedServices("web", true)[0]
	service := func(name, ip string, families ...corev1.IPFamily) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{ClusterIP: ip, ClusterIPs: []string{ip}, IPFamilies: families}}
	}
	for name, tt := range map[string]struct {
		kind     mcsv1beta1.ServiceImportType
		families []corev1.IPFamily
		had      string // the annotation and the addresses
		services map[bool]*corev1.Service
		want     string
	}{
		"a new import":                    {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, "", nil, ""},
		"its Service was created":         {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, "", map[bool]*corev1.Service{false: service(usual, "10.0.0.1", v4)}, usual + " 10.0.0.1"},
		"under another name":              {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, "", map[bool]*corev1.Service{false: service(other, "10.0.0.1", v4)}, other + " 10.0.0.1"},
		"its Service was deleted":         {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, usual + " 10.0.0.1", nil, usual + " 10.0.0.1"},
		"somebody made it ExternalName":   {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, usual + " 10.0.0.1", map[bool]*corev1.Service{false: service(usual, "")}, usual + " 10.0.0.1"},
		"it becomes headless":             {mcsv1beta1.Headless, []corev1.IPFamily{v4}, usual + " 10.0.0.1", map[bool]*corev1.Service{false: service(usual, "10.0.0.1", v4)}, ""},
		"it is headless":                  {mcsv1beta1.Headless, []corev1.IPFamily{v4}, "", map[bool]*corev1.Service{false: service(usual, "10.0.0.1", v4), true: service(headless, "None", v4)}, headless},
		"and is not any more":             {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, headless, map[bool]*corev1.Service{false: service(usual, "10.0.0.1", v4), true: service(headless, "None", v4)}, usual + " 10.0.0.1"},
		"no IP family in common":          {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{corev1.IPv6Protocol}, usual + " 10.0.0.1", map[bool]*corev1.Service{false: service(usual, "10.0.0.1", v4)}, ""},
		"its Service is being re-created": {mcsv1beta1.ClusterSetIP, []corev1.IPFamily{v4}, usual + " 10.0.0.1", map[bool]*corev1.Service{true: service(headless, "None", v4)}, usual + " 10.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			have := &mcsv1beta1.ServiceImport{}
			if annotation, ips, _ := strings.Cut(tt.had, " "); annotation != "" {
				have.Annotations, have.Spec.IPs = map[string]string{names.AnnotationDerivedService: annotation, names.AnnotationApplied: "c1=1"}, strings.Fields(ips)
			}
			resolution := merge.Resolution{Spec: mcsv1beta1.ServiceImportSpec{Type: tt.kind, IPFamilies: tt.families, Ports: []mcsv1beta1.ServicePort{{Port: 80}}}}
			got := want(have, types.NamespacedName{Namespace: "shop", Name: "web"}, resolution, local.ServiceNetwork{Families: []corev1.IPFamily{v4}}, tt.services)
			if text := strings.TrimSpace(got.Annotations[names.AnnotationDerivedService] + " " + strings.Join(got.Spec.IPs, " ")); text != tt.want {
				t.Errorf("%q, want %q", text, tt.want)
			}
			if got.Labels[names.LabelManagedBy] != names.AgentManager {
				t.Errorf("labels %v", got.Labels)
			}
		})
	}
}
