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
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
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
	// Drain says whether the cluster drains the service.
	Drain drain.State
	// Withheld is the reason why a valid Export is not exported.
	Withheld string
}

// ServiceNetwork is the network of a cluster's Services.
type ServiceNetwork struct {
	// Families are the IP families, the default one first.
	Families []corev1.IPFamily
	// CIDRs are the address ranges, if the API server or a flag provides them.
	CIDRs []string
}

// defaultServiceCIDR is the ServiceCIDR that the API server creates from its flags. Others add addresses, but no IP
// family.
const defaultServiceCIDR = "kubernetes"

// ReadServiceNetwork reads the cluster's Service network: its ranges from the ServiceCIDR objects, or as given if the API server
// has none (before Kubernetes 1.33), and the default family from the API server's own Service.
func ReadServiceNetwork(ctx context.Context, r client.Reader, given []string) (ServiceNetwork, error) {
	kubernetes := &corev1.Service{}
	if err := r.Get(ctx, types.NamespacedName{Namespace: corev1.NamespaceDefault, Name: "kubernetes"}, kubernetes); err != nil {
		return ServiceNetwork{}, fmt.Errorf("reading the API server's own Service: %w", err)
	}
	network := ServiceNetwork{Families: slices.Clone(kubernetes.Spec.IPFamilies)}
	ranges := &networkingv1.ServiceCIDRList{}
	switch err := r.List(ctx, ranges); {
	case meta.IsNoMatchError(err) || apierrors.IsNotFound(err):
		return network, network.add("--service-cidr", given, true)
	case err != nil:
		return ServiceNetwork{}, fmt.Errorf("listing the ranges of Service addresses: %w", err)
	}
	for _, r := range ranges.Items {
		if err := network.add("ServiceCIDR "+r.Name, r.Spec.CIDRs, r.Name == defaultServiceCIDR); err != nil {
			return ServiceNetwork{}, err
		}
	}
	return network, nil
}

// add adds ranges and, if they decide them, their families.
func (n *ServiceNetwork) add(from string, cidrs []string, decidesFamilies bool) error {
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			return fmt.Errorf("reading %s: %w", from, err)
		}
		n.CIDRs = append(n.CIDRs, cidr)
		family := corev1.IPv4Protocol
		if prefix.Addr().Is6() {
			family = corev1.IPv6Protocol
		}
		if decidesFamilies && !slices.Contains(n.Families, family) {
			n.Families = append(n.Families, family)
		}
	}
	return nil
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
