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

// anyPort is asked where an endpoint has no port of its own.
const anyPort = 80

// Target is where an endpoint of another cluster can be asked whether it is there.
type Target struct {
	Address netip.AddrPort
	// Group names the service and the port, "" where the endpoint speaks no TCP, so that it accepts no connection.
	Group string
}

// Targets are addresses and ports, limit at most, at which the endpoints of slices on the broker can be asked
// whether they are there: of each slice as many as of the others, and only addresses that this
// cluster may connect to. They are asked by TCP whatever protocol they speak: that nobody
// listens is an answer too, and comes from the pod's own network.
//
// order returns the numbers from 0 to n-1 in an order, in which a slice's endpoints are taken.
// Others should come first each time: those that have gone since the slice was written are often
// neighbours.
func Targets(published []*discoveryv1.EndpointSlice, limit int, order func(n int) []int, allowed func(netip.Addr) bool) []Target {
	var targets []Target
	asked := map[netip.AddrPort]bool{}
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
				if !ok || asked[address] || !allowed(address.Addr()) {
					continue
				}
				if len(targets) == limit {
					return targets
				}
				asked[address] = true
				targets = append(targets, Target{address, group(s)})
			}
		}
	}
	return targets
}

// At is where an endpoint of a slice, which has the given address, is asked; false where that is no address.
func At(s *discoveryv1.EndpointSlice, address string) (netip.AddrPort, bool) {
	a, err := netip.ParseAddr(address)
	number, _ := port(s)
	return netip.AddrPortFrom(a, number), err == nil
}

// group names the service and the port of a slice on the broker.
func group(s *discoveryv1.EndpointSlice) string {
	number, tcp := port(s)
	if !tcp {
		return ""
	}
	return fmt.Sprintf("%s/%d", layout.Service(s), number)
}

// port is one of a slice's, of TCP if it has one.
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
