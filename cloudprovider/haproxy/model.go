package haproxy

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/addresses"
)

// balancer is the wanted state of one load balancer. It is stored as a file for the next hub and is immutable while in
// use.
type balancer struct {
	Name      types.NamespacedName
	Addresses []netip.Addr
	// Ports are all exposed ports of the Service, including unsupported ones.
	Ports []addresses.Port
	// Listens are the ports that HAProxy carries.
	Listens []listen
}

// listen is a section of HAProxy's configuration: one port on all addresses, with its servers.
type listen struct {
	structure
	// Servers get new connections; Resting ones keep only those that they have.
	Servers, Resting []netip.AddrPort
}

// structure is the part of a section that only a reload can change.
type structure struct {
	// Name joins namespace, Service and port with "_", which none of them contains.
	Name           string
	Binds          []netip.AddrPort
	ProxyProtocol  int
	MaxConnections int
	ConnectionRate int
	Affinity       time.Duration
	Sources        []netip.Prefix
}

// label is a DNS label, the form of namespace and Service names.
var label = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$`)

// plan computes a load balancer from a Service that cloudprovider.Usable returned. All input to HAProxy's
// configuration comes from here: names are checked, and typed values leave no room for injection. HAProxy rejects the
// whole configuration for one server without a port.
func plan(name types.NamespacedName, at []netip.Addr, s cloudprovider.Service, o cloudprovider.Options) (*balancer, error) {
	if !label.MatchString(name.Namespace) || !label.MatchString(name.Name) {
		return nil, &cloudprovider.Error{Reason: cloudprovider.ReasonInvalid, Err: fmt.Errorf("%q is not the name of a Service", name)}
	}
	b := &balancer{Name: name, Addresses: at}
	for _, port := range s.Ports {
		b.Ports = append(b.Ports, addresses.PortOf(port))
		if port.Protocol != corev1.ProtocolTCP {
			continue
		}
		l := listen{structure: structure{
			Name:          fmt.Sprintf("%s_%s_%d", name.Namespace, name.Name, port.Number),
			ProxyProtocol: o.ProxyProtocol, MaxConnections: o.MaxConnections, ConnectionRate: o.ConnectionRate,
			Affinity: s.Affinity, Sources: s.SourceRanges,
		}}
		for _, a := range at {
			l.Binds = append(l.Binds, netip.AddrPortFrom(a, uint16(port.Number)))
		}
		l.share(port.Backends)
		b.Listens = append(b.Listens, l)
	}
	return b, nil
}

// share separates serving from draining servers. When all drain, they keep serving.
func (l *listen) share(backends []cloudprovider.Backend) {
	l.Servers, l.Resting = nil, nil
	for _, b := range backends {
		if b.Draining {
			l.Resting = append(l.Resting, b.Address)
		} else {
			l.Servers = append(l.Servers, b.Address)
		}
	}
	if len(l.Servers) == 0 {
		l.Servers, l.Resting = l.Resting, nil
	}
}

// following returns a copy with updated backends, affinity and source ranges, without ports that are no longer
// exposed. It needs no valid options or addresses.
func (b *balancer) following(s cloudprovider.Service) *balancer {
	changed := &balancer{Name: b.Name, Addresses: b.Addresses}
	for _, port := range s.Ports {
		if key := addresses.PortOf(port); slices.Contains(b.Ports, key) {
			changed.Ports = append(changed.Ports, key)
		}
		for _, l := range b.Listens {
			if port.Protocol == corev1.ProtocolTCP && l.Binds[0].Port() == uint16(port.Number) {
				l.Affinity, l.Sources = s.Affinity, s.SourceRanges
				l.share(port.Backends)
				changed.Listens = append(changed.Listens, l)
			}
		}
	}
	return changed
}

// has reports whether a section belongs to the load balancer.
func (b *balancer) has(section string) bool {
	return b != nil && slices.ContainsFunc(b.Listens, func(l listen) bool { return l.Name == section })
}

// check validates a balancer that was read from a file, and drops invalid servers. A balancer from plan always passes.
func (b *balancer) check() error {
	for _, a := range b.Addresses {
		if !a.IsValid() || a.Zone() != "" {
			return fmt.Errorf("HAProxy cannot listen on %q", a)
		}
	}
	for i := range b.Listens {
		l := &b.Listens[i]
		for _, a := range l.Binds {
			if !a.IsValid() || a.Addr().Zone() != "" || a.Port() == 0 {
				return fmt.Errorf("HAProxy cannot listen on %q", a)
			}
		}
		unusable := func(a netip.AddrPort) bool { return cloudprovider.AddressProblem(a) != "" }
		l.Servers, l.Resting = slices.DeleteFunc(l.Servers, unusable), slices.DeleteFunc(l.Resting, unusable)
	}
	return nil
}

// sameStructure reports whether at most the servers differ.
func (b *balancer) sameStructure(other *balancer) bool {
	return other != nil && slices.EqualFunc(b.Listens, other.Listens, func(x, y listen) bool { return reflect.DeepEqual(x.structure, y.structure) })
}

// status lists the load balancer's places. unbound are places that cannot be listened on.
func (b *balancer) status(unbound map[netip.AddrPort]error) *corev1.LoadBalancerStatus {
	if b == nil {
		return nil
	}
	return addresses.Status(b.Addresses, b.Ports, func(at netip.AddrPort, protocol corev1.Protocol) string {
		switch {
		case protocol != corev1.ProtocolTCP:
			return cloudprovider.PortUnsupported
		case unbound[at] != nil:
			return cloudprovider.PortNotBound
		}
		return ""
	})
}

// binds returns all places of the load balancers.
func binds(all map[types.NamespacedName]*balancer) (places []netip.AddrPort) {
	for _, b := range all {
		for _, l := range b.Listens {
			places = append(places, l.Binds...)
		}
	}
	return places
}

// failures joins the bind errors of this load balancer.
func (b *balancer) failures(unbound map[netip.AddrPort]error) error {
	var list []error
	for _, place := range binds(map[types.NamespacedName]*balancer{{}: b}) {
		if err := unbound[place]; err != nil {
			list = append(list, fmt.Errorf("HAProxy cannot listen; check that the address belongs to this machine and that the port is free: %w", err))
		}
	}
	return errors.Join(list...)
}

// ownerOf returns the MultiClusterService of a section.
func ownerOf(section string) (types.NamespacedName, bool) {
	parts := strings.Split(section, "_")
	if len(parts) != 3 {
		return types.NamespacedName{}, false
	}
	return types.NamespacedName{Namespace: parts[0], Name: parts[1]}, true
}

// sorted gives the order of sections in the configuration.
func sorted(all map[types.NamespacedName]*balancer) []*balancer {
	return slices.SortedFunc(maps.Values(all), func(x, y *balancer) int {
		return strings.Compare(x.Name.String(), y.Name.String())
	})
}
