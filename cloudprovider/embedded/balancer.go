package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/addresses"
)

// place is the address and port of a listener.
type place struct {
	address netip.Addr
	port    addresses.Port
}

type listener interface {
	configure(s settings)
	close(drain time.Duration)
}

// balancer is one load balancer. The provider's mu guards it.
type balancer struct {
	provider  *Provider
	name      types.NamespacedName
	addresses []netip.Addr
	ports     []addresses.Port // all ports of the Service, including unsupported ones
	options   cloudprovider.Options
	groups    map[addresses.Port]*group
	listeners map[place]listener
}

func newBalancer(p *Provider, name types.NamespacedName) *balancer {
	return &balancer{provider: p, name: name, groups: map[addresses.Port]*group{}, listeners: map[place]listener{}}
}

// follow is apply without new ports. It needs no valid options or addresses.
func (b *balancer) follow(ctx context.Context, s cloudprovider.Service) {
	s.Ports = slices.DeleteFunc(slices.Clone(s.Ports), func(p cloudprovider.Port) bool { return !slices.Contains(b.ports, addresses.PortOf(p)) })
	_ = b.apply(ctx, b.addresses, s, b.options)
}

// apply updates the load balancer. The error names places that cannot be listened on; the others still work.
func (b *balancer) apply(ctx context.Context, assigned []netip.Addr, s cloudprovider.Service, o cloudprovider.Options) error {
	b.addresses, b.ports, b.options = assigned, nil, o
	wanted := map[place]bool{}
	for _, port := range s.Ports {
		key := addresses.PortOf(port)
		b.ports = append(b.ports, key)
		if port.Protocol != corev1.ProtocolTCP && port.Protocol != corev1.ProtocolUDP {
			continue
		}
		if b.groups[key] == nil {
			b.groups[key] = b.newGroup(port.Protocol)
		}
		b.groups[key].update(port.Backends, s.Affinity)
		for _, a := range assigned {
			wanted[place{a, key}] = true
		}
	}
	b.closeOthers(wanted)
	var failed []error
	for p := range wanted {
		if err := b.listen(ctx, p, settings{o, s.SourceRanges}); err != nil {
			failed = append(failed, err)
		}
	}
	slices.SortFunc(failed, func(x, y error) int { return cmp.Compare(x.Error(), y.Error()) })
	return errors.Join(failed...)
}

func (b *balancer) newGroup(protocol corev1.Protocol) *group {
	check := checkTCP(b.provider.dialer)
	if protocol == corev1.ProtocolUDP {
		check = pauseUDP
	}
	// In a goroutine, because the caller may hold the provider's mu.
	changed := func() { b.provider.running.Go(func() { b.provider.report(b.name) }) }
	return newGroup(&b.provider.running, check, changed)
}

func (b *balancer) listen(ctx context.Context, p place, s settings) error {
	l := b.listeners[p]
	if l == nil {
		var err error
		address := netip.AddrPortFrom(p.address, uint16(p.port.Number))
		if p.port.Protocol == corev1.ProtocolUDP {
			l, err = listenUDP(ctx, address, b.groups[p.port], b.provider)
		} else {
			l, err = listenTCP(ctx, address, b.groups[p.port], b.provider)
		}
		if err != nil {
			return fmt.Errorf("the load balancer cannot listen; check that the address belongs to this machine and that the port is free: %w", err)
		}
		b.listeners[p] = l
	}
	l.configure(s)
	return nil
}

// closeOthers closes unwanted listeners and the backends of unwanted ports.
func (b *balancer) closeOthers(wanted map[place]bool) {
	ports := map[addresses.Port]bool{}
	for p := range wanted {
		ports[p.port] = true
	}
	for p, l := range b.listeners {
		if !wanted[p] {
			l.close(b.provider.drain)
			delete(b.listeners, p)
		}
	}
	for port, g := range b.groups {
		if !ports[port] {
			g.close()
			delete(b.groups, port)
		}
	}
}

func (b *balancer) close(drain time.Duration) {
	for _, l := range b.listeners {
		l.close(drain)
	}
	for _, g := range b.groups {
		g.close()
	}
}

// status lists the listening places. It is nil when there is no load balancer.
func (b *balancer) status() *corev1.LoadBalancerStatus {
	if b == nil {
		return nil
	}
	return addresses.Status(b.addresses, b.ports, func(at netip.AddrPort, protocol corev1.Protocol) string {
		port := addresses.Port{Protocol: protocol, Number: int32(at.Port())}
		switch {
		case b.groups[port] == nil:
			return cloudprovider.PortUnsupported
		case b.listeners[place{at.Addr(), port}] == nil:
			return cloudprovider.PortNotBound
		}
		return ""
	})
}
