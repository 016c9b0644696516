// Package cloudprovider is the interface between the hub and providers of load balancers for
// MultiClusterServices.
//
// A provider is made by a Factory that is registered by name, in the init function of a package
// of anybody's that is compiled into the hub. The package conformance has the tests that it
// should pass.
package cloudprovider

import (
	"context"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// MCSLoadBalancer makes load balancers for MultiClusterServices, one for each. Its methods are
// those of Karmada's proposal "MultiClusterService".
//
// They may be called at the same time for different MultiClusterServices, and are not for one.
// They leave the object as it is. They return when the context is done at the latest. A call that
// failed is repeated, with growing pauses, and any call may be made again by a hub that has just
// started and knows nothing of former ones; what the status of the object says it had before is
// to be kept then. An Error tells users in a word why it failed.
type MCSLoadBalancer interface {
	// GetMCSLoadBalancer tells whether there is a load balancer, and what its status is.
	GetMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (status *corev1.LoadBalancerStatus, exist bool, err error)

	// EnsureMCSLoadBalancer makes the load balancer, or brings one that there is up to date. A
	// status that comes with an error says what there is in spite of it. A port that can't be
	// carried bears that as its error in the status, as corev1.PortStatus has it.
	EnsureMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (status *corev1.LoadBalancerStatus, err error)

	// UpdateMCSLoadBalancer brings a load balancer up to date that should be there; the
	// backends have changed, most often. Connections that need not end go on. One that is
	// not there is made.
	UpdateMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (status *corev1.LoadBalancerStatus, err error)

	// EnsureMCSLoadBalancerDeleted deletes the load balancer. That there is none is no error.
	EnsureMCSLoadBalancerDeleted(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) error
}

// Reporter is implemented by providers that know which backends can't be reached. They call Config.Report when that changes. A provider
// that holds resources of the process implements io.Closer too: it is closed when the hub ends.
type Reporter interface {
	// Unreachable returns the backends that get no traffic because they do not answer.
	Unreachable(name types.NamespacedName) []netip.AddrPort
}

// Inventory is implemented by providers whose load balancers outlive the hub. It deletes those of
// which there is no MultiClusterService any more.
type Inventory interface {
	// LoadBalancers returns the names of all MultiClusterServices that have one.
	LoadBalancers() []types.NamespacedName
}

// Meter is implemented by providers that know how much they carry.
type Meter interface {
	// Traffic returns what the load balancers carry and have carried, all of them together, with a Traffic for each
	// protocol. It returns when the context is done at the latest.
	Traffic(ctx context.Context) ([]Traffic, error)
}

// Traffic is what load balancers carry by one protocol.
type Traffic struct {
	Protocol corev1.Protocol
	// Open is how many connections there are. Of UDP they are clients that have a backend.
	Open int
	// Taken is how many have been taken from clients, and Failed for how many of them no backend could be reached. Both
	// begin at 0 whenever the process does that carries the traffic.
	Taken, Failed uint64
}

// Lister tells a provider what a load balancer is to forward, and to whom.
type Lister interface {
	// Service returns what a load balancer forwards for a MultiClusterService. The hub calls
	// UpdateMCSLoadBalancer when that changes. After an error the provider changes nothing.
	Service(name types.NamespacedName) (Service, error)
}

// Service is what a load balancer forwards. It is read only. Usable leaves out of it what no load balancer can have.
type Service struct {
	// Ports are the exposed ones.
	Ports []Port
	// Affinity is how long connections of one client go to one backend, counted from the last
	// of them; 0 is not at all.
	Affinity time.Duration
	// SourceRanges are those from which clients are let in; none means all. Connections that there are
	// when they change go on; what a UDP client sends after that is let in or not by the new ones.
	SourceRanges []netip.Prefix
	// Families are the Service's, the preferred first.
	Families []corev1.IPFamily
}

// Port is one that a load balancer listens on.
type Port struct {
	// Name is the port's name in the Service; it may be empty.
	Name string
	// Protocol is TCP, UDP or SCTP.
	Protocol corev1.Protocol
	// Number is what clients connect to.
	Number int32
	// Backends are the endpoints of all provider clusters, each address and port once, sorted: at most 1,000, and at most 5,000 of
	// all ports together.
	Backends []Backend
}

// Backend is an endpoint of a Service in one of the clusters.
type Backend struct {
	// Address is the pod's, or where a cluster publishes those instead, the address of its Service.
	Address netip.AddrPort
	// Cluster is the id of the cluster that it is in.
	Cluster string
	// Draining says that it is terminating and serves still: connections that it has go on,
	// and new ones go to others as long as there are any.
	Draining bool
}
