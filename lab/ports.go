package lab

import (
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
)

// The lab's loopback ports are below the kernel's range for outgoing connections, so that a restarted API server finds
// its port free.
const firstPort, lastPort = 20000, 32000

// choosePorts assigns free loopback ports to the clusters.
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

// FreePorts finds different loopback ports without listeners, outside the range for outgoing connections.
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
	return nil, fmt.Errorf("finding %d free ports between %d and %d on the loopback interface: too many ports are in use", n, firstPort, lastPort)
}

func free(port netip.AddrPort) bool {
	l, err := net.Listen("tcp", port.String())
	if err != nil {
		return false
	}
	_ = l.Close()
	return true
}

// portStolen reports whether another program listens on a port of a stopped lab.
func (s *Spec) portStolen() bool {
	for _, c := range s.Clusters {
		if !free(c.Loopback) || (s.ControlPlaneOnly && !free(c.Etcd)) {
			return true
		}
	}
	return false
}
