package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// Ports of the lab on the loopback interface are taken from below those that the
// kernel gives to outgoing connections, so that an API server that is started
// again finds its port free.
const firstPort, lastPort = 20000, 32000

// choosePorts gives the clusters free ports on the loopback interface.
func (s *Spec) choosePorts() error {
	perCluster := 1
	if s.ControlPlaneOnly {
		perCluster = 2
	}
	ports, err := FreePorts(perCluster * len(s.Clusters))
	if err != nil {
		return err
	}
	for i := range s.Clusters {
		c := &s.Clusters[i]
		c.Loopback = ports[perCluster*i]
		if s.ControlPlaneOnly {
			c.APIServer, c.Etcd = c.Loopback, ports[perCluster*i+1]
		}
	}
	return nil
}

// FreePorts finds different ports of the loopback interface that nobody listens on
// now. No outgoing connection takes them, either.
func FreePorts(n int) ([]netip.AddrPort, error) {
	found := map[netip.AddrPort]bool{}
	var ports []netip.AddrPort
	for range 100 * (n + 1) {
		if len(ports) == n {
			return ports, nil
		}
		port := netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), uint16(firstPort+rand.IntN(lastPort-firstPort)))
		if !found[port] && free(port) {
			found[port] = true
			ports = append(ports, port)
		}
	}
	return nil, fmt.Errorf("finding %d free ports between %d and %d on the loopback interface: too many are taken", n, firstPort, lastPort)
}

func free(port netip.AddrPort) bool {
	l, err := net.Listen("tcp", port.String())
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// portStolen tells, of a lab that does not run, whether somebody else listens on
// one of its ports.
func (s *Spec) portStolen() bool {
	for _, c := range s.Clusters {
		if !free(c.Loopback) || (s.ControlPlaneOnly && !free(c.Etcd)) {
			return true
		}
	}
	return false
}
