package sliceplan

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
)

// PublishClusterIPs plans the slices on the broker in advertise mode cluster-ip: for
// each of the Service's cluster IPs one slice, with that as the one endpoint, at the
// Service's own ports. The endpoint is there while the cluster's kube-proxy would pass
// traffic on to a ready endpoint of the family; without one the slice stays, empty
// (docs/adr/0010).
//
// The endpoint has neither node nor zone: it stands for pods anywhere in the cluster.
func PublishClusterIPs(p Publication) []discoveryv1.EndpointSlice {
	var plan []discoveryv1.EndpointSlice
	for _, ip := range p.ClusterIPs {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			continue // None, of a headless Service
		}
		family := discoveryv1.AddressTypeIPv4
		if addr.Is6() {
			family = discoveryv1.AddressTypeIPv6
		}
		slice := p.slice(names.ClusterIPSlice(p.Service, string(family)), 0, family)
		slice.Labels[names.LabelAdvertiseMode] = string(brokerv1alpha1.AdvertiseClusterIP)
		slice.Endpoints = []discoveryv1.Endpoint{}
		if served := p.served(family); len(served) > 0 {
			slice.Endpoints = append(slice.Endpoints, ready(ip))
			slice.Ports = endpointPorts(served)
		} else {
			slice.Ports = endpointPorts(p.Ports)
		}
		plan = append(plan, slice)
	}
	return plan
}

// ByClusterIP tells whether a slice on the broker holds a Service's cluster IP in place
// of its pods' addresses.
func ByClusterIP(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[names.LabelAdvertiseMode] == string(brokerv1alpha1.AdvertiseClusterIP)
}

// served returns those of the Service's ports that have a ready endpoint of a family.
// Where pods name their ports differently, one port may have some and another none.
// Endpoints that the Service publishes before they are ready say that they are
// (publishNotReadyAddresses), so that there is nothing else to ask.
func (p Publication) served(family discoveryv1.AddressType) []mcsv1beta1.ServicePort {
	var served []mcsv1beta1.ServicePort
	for _, port := range p.Ports {
		if slices.ContainsFunc(p.Sources, func(s *discoveryv1.EndpointSlice) bool {
			return isSource(s) && s.AddressType == family && hasPort(s, port) && hasReady(s)
		}) {
			served = append(served, port)
		}
	}
	return served
}

// hasPort tells whether a slice has a Service's port, by which kube-proxy tells them
// apart: name and protocol.
func hasPort(slice *discoveryv1.EndpointSlice, port mcsv1beta1.ServicePort) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return isPort(p, port) })
}

// isPort tells whether a slice's port is a Service's.
func isPort(p discoveryv1.EndpointPort, port mcsv1beta1.ServicePort) bool {
	return ptr.Deref(p.Name, "") == port.Name && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == cmp.Or(port.Protocol, corev1.ProtocolTCP)
}

func hasReady(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return isReady(&e) })
}

func ready(address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{address},
		Conditions: discoveryv1.EndpointConditions{
			Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false),
		},
	}
}

// endpointPorts are ports at which a cluster IP answers: the Service's own numbers.
func endpointPorts(ports []mcsv1beta1.ServicePort) []discoveryv1.EndpointPort {
	all := make([]discoveryv1.EndpointPort, 0, len(ports))
	for _, p := range ports {
		all = append(all, discoveryv1.EndpointPort{
			Name: ptr.To(p.Name), Protocol: ptr.To(cmp.Or(p.Protocol, corev1.ProtocolTCP)),
			Port: ptr.To(p.Port), AppProtocol: p.AppProtocol,
		})
	}
	return all
}
