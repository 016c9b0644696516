package cloudprovider

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// maxAffinity is the Kubernetes API's limit for session affinity.
const maxAffinity = 24 * time.Hour

// NoClients is a source range that admits no client.
var NoClients = netip.MustParsePrefix("0.0.0.0/32")

// Usable returns the parts of a Service that a load balancer can serve. The error, or nil, names the ports and
// backends that it leaves out. The hub's Lister refuses more, but providers still call Usable: one bad value must not
// stop a shared program such as HAProxy from serving all other Services.
func Usable(s Service) (Service, error) {
	var refused []error
	ports := make([]Port, 0, len(s.Ports))
	for _, p := range s.Ports {
		if why := portProblem(p, ports); why != "" {
			refused = append(refused, fmt.Errorf("port %d/%s: %s", p.Number, p.Protocol, why))
			continue
		}
		var err error
		if p.Backends, err = usable(p.Backends); err != nil {
			refused = append(refused, fmt.Errorf("port %d/%s: %w", p.Number, p.Protocol, err))
		}
		ports = append(ports, p)
	}
	s.Ports = ports
	s.Affinity = min(max(s.Affinity, 0), maxAffinity)
	s.SourceRanges = slices.Clone(s.SourceRanges)
	for i, r := range s.SourceRanges {
		if !r.IsValid() {
			s.SourceRanges[i] = NoClients // dropping the range could admit all clients
			refused = append(refused, errors.New("an invalid source range admits no client"))
		}
	}
	if len(refused) > 0 {
		return s, &Error{ReasonInvalidService, errors.Join(refused...)}
	}
	return s, nil
}

// portProblem says why a load balancer cannot have a port beside the others, or returns "".
func portProblem(p Port, others []Port) string {
	switch {
	case p.Number < 1 || p.Number > 65535:
		return "the port number is not between 1 and 65535"
	case slices.ContainsFunc(others, func(o Port) bool { return o.Number == p.Number && o.Protocol == p.Protocol }):
		return "another port has the same number and protocol"
	}
	return ""
}

// usable returns the reachable backends without duplicates, and an error that names the others.
func usable(backends []Backend) (kept []Backend, err error) {
	var refused []string
	seen := make(map[netip.AddrPort]bool, len(backends))
	for _, b := range backends {
		why := AddressProblem(b.Address)
		if why == "" && seen[b.Address] {
			why = "the address is listed twice"
		}
		if why == "" {
			seen[b.Address] = true
			kept = append(kept, b)
			continue
		}
		refused = append(refused, fmt.Sprintf("backend %q of cluster %q: %s", b.Address.String(), b.Cluster, why))
	}
	const most = 3 // keeps the condition's message short
	switch more := len(refused) - most; {
	case len(refused) == 0:
		return kept, nil
	case more > 0:
		refused = append(refused[:most], fmt.Sprintf("further backends: %d", more))
	}
	return kept, errors.New(strings.Join(refused, "; "))
}

// AddressProblem says why an address cannot be a backend's, or returns "".
func AddressProblem(a netip.AddrPort) string {
	switch ip := a.Addr(); {
	case !ip.IsValid():
		return "the IP address is missing"
	case ip.Zone() != "":
		return "the address has an IPv6 zone, which names an interface of this machine"
	case ip.Is4In6():
		return "the address is an IPv4-mapped IPv6 address"
	case ip.IsUnspecified():
		return "the address is the unspecified address, which means this machine"
	case ip.IsMulticast():
		return "the address is a multicast address"
	case a.Port() == 0:
		return "the port number is 0"
	}
	return ""
}
