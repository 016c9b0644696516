package lost

import (
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
)

// anyPort is probed if an endpoint has no port.
const anyPort = 80

// Target is an address and port to probe for an endpoint of another cluster.
type Target struct {
	Address netip.AddrPort
	// Group names the service and port, or is "" if the endpoint has no TCP port and so accepts no connection.
	Group string
}

// Targets returns at most limit addresses and ports to probe for the endpoints of slices on the broker, as many from
// each slice, and only allowed addresses. Probes use TCP for any protocol: "connection refused" is also an answer, and
// comes from the pod's own network.
//
// order returns a permutation of 0 to n-1 for a slice's endpoints. It should differ each time, because endpoints that
// are gone are often neighbours.
func Targets(published []*discoveryv1.EndpointSlice, limit int, order func(n int) []int, allowed func(netip.Addr) bool) []Target {
	var targets []Target
	taken := map[netip.AddrPort]bool{}
	orders := make([][]int, len(published))
	for i, s := range published {
		orders[i] = order(len(s.Endpoints))
	}
	for i, more := 0, true; more; i++ {
		more = false
		for n, s := range published {
			if i >= len(s.Endpoints) {
				continue
			}
			more = true
			for _, text := range s.Endpoints[orders[n][i]].Addresses {
				address, ok := At(s, text)
				if !ok || taken[address] || !allowed(address.Addr()) {
					continue
				}
				if len(targets) == limit {
					return targets
				}
				taken[address] = true
				targets = append(targets, Target{address, group(s)})
			}
		}
	}
	return targets
}

// At returns where to probe an endpoint of a slice with the given address; false if that is no IP address.
func At(s *discoveryv1.EndpointSlice, address string) (netip.AddrPort, bool) {
	a, err := netip.ParseAddr(address)
	number, _ := port(s)
	return netip.AddrPortFrom(a, number), err == nil
}

func group(s *discoveryv1.EndpointSlice) string {
	number, tcp := port(s)
	if !tcp {
		return ""
	}
	return fmt.Sprintf("%s/%d", layout.Service(s), number)
}

// port returns one of a slice's ports, preferably a TCP port.
func port(s *discoveryv1.EndpointSlice) (number uint16, tcp bool) {
	number = anyPort
	for _, p := range slices.Backward(s.Ports) {
		if p.Port == nil || *p.Port <= 0 || *p.Port > 65535 {
			continue
		}
		if isTCP := ptr.Deref(p.Protocol, corev1.ProtocolTCP) == corev1.ProtocolTCP; isTCP || !tcp {
			number, tcp = uint16(*p.Port), isTCP
		}
	}
	return number, tcp
}
