// Package local gives controllers access to the member's own cluster.
//
// local.go and exports.go have its part in a service, lists.go its imports, zones.go and hosts.go its nodes.
package local

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Own is this cluster's part in a service.
type Own struct {
	// Export is the ServiceExport, or nil if there is none or it is being deleted.
	Export *mcsv1beta1.ServiceExport
	// Service is the Service of Export's name, or nil if there is none. While finalizers keep a deleted Service, it still serves.
	Service *corev1.Service
	// Validity is the verdict on Export.
	Validity contribution.Validity
	// Contribution is this cluster's export, nil if Export is nil or invalid, or if Withheld is set. A deleted
	// Service's remains briefly, without endpoints, so that a re-created Service keeps its imports and addresses.
	Contribution *merge.Export
	// Refused are the parts that Contribution lacks because other clusters would refuse them.
	Refused []validation.Refused
	// Withheld is the reason why a valid Export is not exported.
	Withheld string
}

// ServiceNetwork is the network of a cluster's Services.
type ServiceNetwork struct {
	// Families are the IP families, the default one first.
	Families []corev1.IPFamily
	// CIDRs are the address ranges, if the API server provides them.
	CIDRs []string
}

// defaultServiceCIDR is the ServiceCIDR that the API server creates from its flags. Others add addresses, but no IP
// family.
const defaultServiceCIDR = "kubernetes"

// ReadServiceNetwork reads the cluster's Service network from the ServiceCIDR objects and, for the default family, from
// the API server's own Service.
func ReadServiceNetwork(ctx context.Context, r client.Reader) (ServiceNetwork, error) {
	kubernetes := &corev1.Service{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: "kubernetes"}, kubernetes); err != nil {
		return ServiceNetwork{}, fmt.Errorf("reading the API server's own Service: %w", err)
	}
	network := ServiceNetwork{Families: slices.Clone(kubernetes.Spec.IPFamilies)}
	ranges := &networkingv1.ServiceCIDRList{}
	switch err := r.List(ctx, ranges); {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return network, nil // before Kubernetes 1.33
	case err != nil:
		return ServiceNetwork{}, fmt.Errorf("listing the ranges of Service addresses: %w", err)
	}
	for _, r := range ranges.Items {
		for _, cidr := range r.Spec.CIDRs {
			prefix, err := netip.ParsePrefix(cidr)
			if err != nil {
				return ServiceNetwork{}, fmt.Errorf("reading ServiceCIDR %s: %w", r.Name, err)
			}
			network.CIDRs = append(network.CIDRs, cidr)
			family := corev1.IPv4Protocol
			if prefix.Addr().Is6() {
				family = corev1.IPv6Protocol
			}
			if r.Name == defaultServiceCIDR && !slices.Contains(network.Families, family) {
				network.Families = append(network.Families, family)
			}
		}
	}
	return network, nil
}

// Supported returns the families that the cluster supports, in the given order.
func (n ServiceNetwork) Supported(families []corev1.IPFamily) []corev1.IPFamily {
	var supported []corev1.IPFamily
	for _, f := range families {
		if slices.Contains(n.Families, f) {
			supported = append(supported, f)
		}
	}
	return supported
}
