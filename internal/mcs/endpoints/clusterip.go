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

// ClusterIPSlices returns the slices on the broker in advertise mode cluster-ip, by the names that replace their
// sources' names. Each of the Service's cluster IPs has one slice with one endpoint, at the Service's own ports. The
// endpoint exists while kube-proxy would forward traffic to a ready endpoint of the family; otherwise the slice is
// empty (docs/adr/0010). sources are the Service's slices.
//
// The endpoint has neither node nor zone: its pods may be anywhere in the cluster.
func (x Export) ClusterIPSlices(clusterIPs []string, sources []*discoveryv1.EndpointSlice) map[string]*discoveryv1.EndpointSlice {
	all := map[string]*discoveryv1.EndpointSlice{}
	for _, ip := range clusterIPs {
		addr, err := netip.ParseAddr(ip)
		if err != nil {
			continue // "None", for a headless Service
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

// ByClusterIP reports whether a slice on the broker has a Service's cluster IP instead of pod addresses.
func ByClusterIP(slice *discoveryv1.EndpointSlice) bool {
	return slice.Labels[names.LabelAdvertiseMode] == string(brokerv1alpha1.AdvertiseClusterIP)
}

// served returns the Service's ports that have a ready endpoint of a family. If pods name their ports differently, only
// some ports may have one. With publishNotReadyAddresses, endpoints are marked ready, so no other check is needed.
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

// hasPort reports whether a slice has a Service's port. kube-proxy identifies ports by name and protocol.
func hasPort(slice *discoveryv1.EndpointSlice, port mcsv1beta1.ServicePort) bool {
	return slices.ContainsFunc(slice.Ports, func(p discoveryv1.EndpointPort) bool { return isPort(p, port) })
}

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

// endpointPorts returns the ports of a cluster IP: the Service's own numbers.
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
