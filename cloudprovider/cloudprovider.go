// Package cloudprovider is the interface between the hub and providers of load balancers for MultiClusterServices.
//
// A provider package registers a Factory by name in its init function and is compiled into the hub. The package
// conformance has the tests that a provider should pass.
package cloudprovider

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// MCSLoadBalancer manages one load balancer for each MultiClusterService. Its methods are those of Karmada's proposal
// "MultiClusterService".
//
// The hub calls the methods concurrently for different MultiClusterServices, never for the same one. Methods do not
// change the object, and return at the latest when the context is done. The hub retries failed calls with backoff. A
// restarted hub may repeat any call without knowing earlier ones; the provider then keeps the addresses in the
// object's status. Return an *Error to give users a reason.
type MCSLoadBalancer interface {
	// GetMCSLoadBalancer reports whether a load balancer exists, and its status.
	GetMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (status *corev1.LoadBalancerStatus, exist bool, err error)

	// EnsureMCSLoadBalancer creates or updates the load balancer. A status returned with an error describes the parts
	// that work. Ports that cannot be carried have an error in the status (corev1.PortStatus).
	EnsureMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (status *corev1.LoadBalancerStatus, err error)

	// UpdateMCSLoadBalancer updates an existing load balancer, most often its backends, and keeps connections open
	// where possible. It creates a missing one.
	UpdateMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (status *corev1.LoadBalancerStatus, err error)

	// EnsureMCSLoadBalancerDeleted deletes the load balancer. A missing one is no error.
	EnsureMCSLoadBalancerDeleted(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) error
}

// Reporter is implemented by providers that check backends. They call Config.Report when the result changes. A
// provider that holds resources of the process also implements io.Closer: the hub closes it on exit.
type Reporter interface {
	// Unreachable returns the backends that get no traffic because they do not answer.
	Unreachable(name types.NamespacedName) []netip.AddrPort
}

// Inventory is implemented by providers whose load balancers outlive the hub. The hub deletes those without a
// MultiClusterService.
type Inventory interface {
	// LoadBalancers returns the names of all MultiClusterServices that have a load balancer.
	LoadBalancers() []types.NamespacedName
}

// Meter is implemented by providers that count their traffic.
type Meter interface {
	// Traffic returns one Traffic per protocol for all load balancers together, at the latest when the context is
	// done.
	Traffic(ctx context.Context) ([]Traffic, error)
}

// Traffic counts the connections of one protocol.
type Traffic struct {
	Protocol corev1.Protocol
	// Open is the number of open connections; for UDP, of clients with a backend.
	Open int
	// Taken counts accepted connections, Failed those of them for which no backend was reachable. Both restart at 0
	// with the process that carries the traffic.
	Taken, Failed uint64
}

// KeyOf returns the namespace and name of a MultiClusterService.
func KeyOf(mcs *networkingv1alpha1.MultiClusterService) types.NamespacedName {
	return types.NamespacedName{Namespace: mcs.Namespace, Name: mcs.Name}
}

// Lister gives providers the ports and backends of Services.
type Lister interface {
	// Service returns the ports and backends of a MultiClusterService. The hub calls UpdateMCSLoadBalancer when they
	// change. After an error the provider changes nothing.
	Service(name types.NamespacedName) (Service, error)
}

// Service is the forwarding that a load balancer needs. It is read only. Usable removes invalid parts.
type Service struct {
	// Ports are the exposed ports.
	Ports []Port
	// Affinity is how long a client stays with one backend after its last connection; 0 turns affinity off.
	Affinity time.Duration
	// SourceRanges admit clients; none admits all. A change does not end open connections, but applies to every later
	// UDP datagram.
	SourceRanges []netip.Prefix
	// Families are the IP families of the Service, the preferred first.
	Families []corev1.IPFamily
}

// Port is a listening port of a load balancer.
type Port struct {
	// Name is the port's name in the Service; it may be empty.
	Name string
	// Protocol is TCP, UDP or SCTP.
	Protocol corev1.Protocol
	// Number is the port that clients connect to.
	Number int32
	// Backends are the endpoints of all provider clusters, without duplicates and sorted: at most 1,000 per port and
	// 5,000 per Service.
	Backends []Backend
}

// Backend is an endpoint of a Service in one of the clusters.
type Backend struct {
	// Address is the pod's, or the Service's when the cluster publishes its Service address instead of pods.
	Address netip.AddrPort
	// Cluster is the ID of the backend's cluster.
	Cluster string
	// Draining means that the endpoint is terminating but still serves: it keeps its connections, and new ones go to
	// other backends while there are any.
	Draining bool
}
