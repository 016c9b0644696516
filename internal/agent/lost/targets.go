package lost

import (
	"net/netip"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// anyPort is asked where an endpoint has no port of its own.
const anyPort = 80

// Targets are addresses and ports, limit at most, at which the pods behind slices can be asked
// whether they are there: of each slice as many as of the others, and only addresses that this
// cluster may connect to. They are asked by TCP whatever protocol they speak: that nobody
// listens is an answer too, and comes from the pod's own network.
//
// order returns the numbers from 0 to n-1 in an order, in which a slice's endpoints are taken.
// Others should come first each time: those that have gone since the slice was written are often
// neighbours.
func Targets(slices []*discoveryv1.EndpointSlice, limit int, order func(n int) []int, allowed func(netip.Addr) bool) []string {
	var targets []string
	asked := map[netip.Addr]bool{}
	orders := make([][]int, len(slices))
	for i, s := range slices {
		orders[i] = order(len(s.Endpoints))
	}
	for i, more := 0, true; more; i++ {
		more = false
		for n, s := range slices {
			if i >= len(s.Endpoints) {
				continue
			}
			more = true
			for _, text := range s.Endpoints[orders[n][i]].Addresses {
				address, err := netip.ParseAddr(text)
				if err != nil || asked[address] || !allowed(address) {
					continue
				}
				if len(targets) == limit {
					return targets
				}
				asked[address] = true
				targets = append(targets, netip.AddrPortFrom(address, port(s)).String())
			}
		}
	}
	return targets
}

// port is one of a slice's.
func port(s *discoveryv1.EndpointSlice) uint16 {
	for _, p := range s.Ports {
		if p.Port != nil && *p.Port > 0 && *p.Port <= 65535 {
			return uint16(*p.Port)
		}
	}
	return anyPort
}
