package endpoints

import (
	"cmp"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// ClusterIPSlices returns the slices on the broker in advertise mode cluster-ip, by the names that stand for their sources: for each of the
// Service's cluster IPs one slice, with that as the one endpoint, at the Service's own ports. The endpoint is there while the cluster's
// kube-proxy would pass traffic on to a ready endpoint of the family; without one the slice stays, empty (docs/adr/0010). sources are the
// Service's slices.
//
// The endpoint has neither node nor zone: it stands for pods anywhere in the cluster.
func (x Export) ClusterIPSlices(clusterIPs []string, sources []*discoveryv1.EndpointSlice) map[string]*discoveryv1.EndpointSlice {
	all := map[string]*discoveryv1.EndpointSlice{}
	for _, ip := range clusterIPs {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			continue // None, of a headless Service
		}
		family := discoveryv1.AddressTypeIPv4
		if addr.Is6() {
			family = discoveryv1.AddressTypeIPv6
		}
		name := names.ClusterIPSlice(x.Service.Name, string(family))
		slice := x.slice(name, family)
		slice.Labels[names.LabelAdvertiseMode] = string(brokerv1alpha1.AdvertiseClusterIP)
		if served := x.served(family, sources); len(served) > 0 {
			slice.Endpoints = append(slice.Endpoints, ready(ip))
			slice.Ports = endpointPorts(served)
		} else {
			slice.Ports = endpointPorts(x.Ports)
		}
		all[name] = slice
	}
	return all
}

// ByClusterIP tells whether a slice on the broker holds a Service's cluster IP in place of its pods' addresses.
func ByClusterIP(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[names.LabelAdvertiseMode] == string(brokerv1alpha1.AdvertiseClusterIP)
}

// served returns those of the Service's ports that have a ready endpoint of a family. Where pods name their ports differently, one port may
// have some and another none. Endpoints that the Service publishes before they are ready say that they are (publishNotReadyAddresses), so
// that there is nothing else to ask.
func (x Export) served(family discoveryv1.AddressType, sources []*discoveryv1.EndpointSlice) []mcsv1beta1.ServicePort {
	var served []mcsv1beta1.ServicePort
	for _, port := range x.Ports {
		if slices.ContainsFunc(sources, func(s *discoveryv1.EndpointSlice) bool {
			return IsSource(s) && s.AddressType == family && hasPort(s, port) && hasReady(s)
		}) {
			served = append(served, port)
		}
	}
	return served
}

// hasPort tells whether a slice has a Service's port, by which kube-proxy tells them apart: name and protocol.
func hasPort(slice *discoveryv1.EndpointSlice, port mcsv1beta1.ServicePort) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return isPort(p, port) })
}

// isPort tells whether a slice's port is a Service's.
func isPort(p discoveryv1.EndpointPort, port mcsv1beta1.ServicePort) bool {
	return ptr.Deref(p.Name, "") == port.Name && ptr.Deref(p.Protocol, corev1.ProtocolTCP) == cmp.Or(port.Protocol, corev1.ProtocolTCP)
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
