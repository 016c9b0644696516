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
	configure(s settings, maxConnections, rate int)
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

// follow updates backends, affinity and source ranges of the existing ports, and closes ports that are no longer
// exposed. It needs no valid options or addresses.
func (b *balancer) follow(s cloudprovider.Service) {
	exposed := map[addresses.Port]bool{}
	for _, port := range s.Ports {
		key := addresses.Port{Protocol: port.Protocol, Number: port.Number}
		exposed[key] = true
		if g := b.groups[key]; g != nil {
			g.update(port.Backends, s.Affinity)
		}
	}
	wanted := map[place]bool{}
	for p, l := range b.listeners {
		if wanted[p] = exposed[p.port]; wanted[p] {
			l.configure(settings{b.options.ProxyProtocol, s.SourceRanges}, b.options.MaxConnections, b.options.ConnectionRate)
		}
	}
	b.closeOthers(wanted)
	b.ports = slices.DeleteFunc(b.ports, func(p addresses.Port) bool { return !exposed[p] })
}

// apply updates the load balancer. The error names places that cannot be listened on; the others still work.
func (b *balancer) apply(ctx context.Context, assigned []netip.Addr, s cloudprovider.Service, o cloudprovider.Options) error {
	b.addresses, b.ports, b.options = assigned, nil, o
	wanted := map[place]bool{}
	for _, port := range s.Ports {
		key := addresses.Port{Protocol: port.Protocol, Number: port.Number}
		b.ports = append(b.ports, key)
		if !carries(port.Protocol) {
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
		if err := b.listen(ctx, p, settings{o.ProxyProtocol, s.SourceRanges}, o); err != nil {
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

func (b *balancer) listen(ctx context.Context, p place, s settings, o cloudprovider.Options) error {
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
	l.configure(s, o.MaxConnections, o.ConnectionRate)
	return nil
}

// closeOthers closes unwanted listeners and the backends of unwanted ports.
func (b *balancer) closeOthers(wanted map[place]bool) {
	ports := map[addresses.Port]bool{}
	for p, is := range wanted {
		if is {
			ports[p.port] = true
		}
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
	status := &corev1.LoadBalancerStatus{}
	proxy := corev1.LoadBalancerIPModeProxy
	for _, a := range b.addresses {
		ingress := corev1.LoadBalancerIngress{IP: a.String(), IPMode: &proxy}
		for _, port := range b.ports {
			ingress.Ports = append(ingress.Ports, corev1.PortStatus{Port: port.Number, Protocol: port.Protocol, Error: b.errorOf(a, port)})
		}
		status.Ingress = append(status.Ingress, ingress)
	}
	return status
}

func (b *balancer) errorOf(a netip.Addr, port addresses.Port) *string {
	text := cloudprovider.PortNotBound
	switch {
	case !carries(port.Protocol):
		text = cloudprovider.PortUnsupported
	case b.listeners[place{a, port}] != nil:
		return nil
	}
	return &text
}
