package podrunner

import (
	"fmt"
	"net/netip"
	"os"

	"github.com/atoll-mcs/atoll/lab/network"
)

// sandbox is a Pod's network.
type sandbox struct {
	namespace network.Namespace
	ips       []string
	release   func() error
}

// podSysctls make a Pod's network what container runtimes make it: everybody
// may bind low ports and ping.
var podSysctls = map[string]string{
	"net/ipv4/ip_unprivileged_port_start": "0",
	"net/ipv4/ping_group_range":           "0 2147483647",
}

// newSandbox makes a network namespace of the name and joins it to the node.
func newSandbox(name network.Namespace, hostInterface string, node Node, pool *addresses) (*sandbox, error) {
	number, addrs, err := pool.take()
	if err != nil {
		return nil, err
	}
	s := &sandbox{namespace: name, ips: addressStrings(addrs)}
	s.release = func() error {
		err := name.Delete()
		pool.release(number)
		return err
	}
	if err := s.join(hostInterface, node, addrs, pool.gateways()); err != nil {
		_ = s.release()
		return nil, err
	}
	return s, nil
}

func (s *sandbox) join(hostInterface string, node Node, addrs, gateways []netip.Addr) error {
	if err := s.namespace.Create(); err != nil {
		return err
	}
	if err := network.AttachPod(node.Namespace, s.namespace, hostInterface, addrs, gateways); err != nil {
		return err
	}
	return s.namespace.Do(func() error {
		for name, value := range podSysctls {
			if err := os.WriteFile("/proc/sys/"+name, []byte(value), 0o644); err != nil {
				return fmt.Errorf("setting the pod's network up: %w", err)
			}
		}
		return nil
	})
}

// hostSandbox is that of a Pod in the node's own network.
func hostSandbox(node Node) *sandbox {
	return &sandbox{
		namespace: node.Namespace, ips: addressStrings(node.Addresses),
		release: func() error { return nil },
	}
}

func addressStrings(addrs []netip.Addr) []string {
	var all []string
	for _, a := range addrs {
		all = append(all, a.String())
	}
	return all
}
