package addresses

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// PortOf returns a port of a Service without its backends.
func PortOf(p cloudprovider.Port) Port { return Port{Protocol: p.Protocol, Number: p.Number} }

// Provide returns the options and assigns the addresses of a MultiClusterService's load balancer, for a provider that
// supports these protocols.
func (p *Pool) Provide(mcs *networkingv1alpha1.MultiClusterService, s cloudprovider.Service, protocols ...string) ([]netip.Addr, cloudprovider.Options, error) {
	options, err := cloudprovider.OptionsOf(mcs)
	if err != nil {
		return nil, options, err
	}
	r := Request{Families: s.Families, Requested: options.Addresses, Former: Former(mcs)}
	for _, port := range s.Ports {
		if slices.Contains(protocols, string(port.Protocol)) {
			r.Ports = append(r.Ports, PortOf(port))
		}
	}
	if len(s.Ports) == 0 {
		return nil, options, &cloudprovider.Error{Reason: cloudprovider.ReasonInvalidService, Err: errors.New("the load balancer has no port to forward")}
	}
	if len(r.Ports) == 0 {
		return nil, options, &cloudprovider.Error{Reason: cloudprovider.ReasonUnsupported, Err: fmt.Errorf(
			"the Service has no %s port, and this provider supports no other protocol: use another provider", strings.Join(protocols, " or "))}
	}
	assigned, err := p.Assign(cloudprovider.KeyOf(mcs), r)
	return assigned, options, err
}

// Status lists the ports of a load balancer at each of its addresses. problem returns what keeps the load balancer from
// serving one (corev1.PortStatus.Error), or "".
func Status(at []netip.Addr, ports []Port, problem func(at netip.AddrPort, protocol corev1.Protocol) string) *corev1.LoadBalancerStatus {
	status := &corev1.LoadBalancerStatus{}
	proxy := corev1.LoadBalancerIPModeProxy
	for _, a := range at {
		ingress := corev1.LoadBalancerIngress{IP: a.String(), IPMode: &proxy}
		for _, p := range ports {
			state := corev1.PortStatus{Port: p.Number, Protocol: p.Protocol}
			if text := problem(netip.AddrPortFrom(a, uint16(p.Number)), p.Protocol); text != "" {
				state.Error = &text
			}
			ingress.Ports = append(ingress.Ports, state)
		}
		status.Ingress = append(status.Ingress, ingress)
	}
	return status
}
