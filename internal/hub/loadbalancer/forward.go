package loadbalancer

import (
	"cmp"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	netutils "k8s.io/utils/net"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
)

// defaultAffinity is the Kubernetes API's default affinity timeout.
const defaultAffinity = time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second

// forwards returns the Service for a load balancer: the exposed ports of the hub's Service, with the endpoints of the
// provider clusters. tooMany describes ports above the limit.
func forwards(mcs *networkingv1alpha1.MultiClusterService, service *corev1.Service, e exports) (s cloudprovider.Service, tooMany []string) {
	s = cloudprovider.Service{Families: service.Spec.IPFamilies, Affinity: affinity(service), SourceRanges: sourceRanges(service)}
	exposed := mcs.Spec.ExposedPorts(service)
	for _, port := range exposed {
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		backends, of := selectBackends(endpoints(port.Name, protocol, port.Port, e.records, e.slices), portLimit(len(exposed)))
		if len(backends) < of {
			tooMany = append(tooMany, describeLimit(port.Port, protocol, len(backends), of))
		}
		s.Ports = append(s.Ports, cloudprovider.Port{Name: port.Name, Protocol: protocol, Number: port.Port, Backends: backends})
	}
	return s, tooMany
}

// unmatched describes the ports that a provider cluster lacks.
func unmatched(s cloudprovider.Service, e exports) (described []string) {
	for _, cluster := range slices.Sorted(maps.Keys(e.records)) {
		var lacks []string
		for _, p := range s.Ports {
			if _, has := nameIn(e.records[cluster], p.Name, p.Protocol, p.Number); !has {
				lacks = append(lacks, describePort(p.Number, p.Protocol))
			}
		}
		if len(lacks) == 0 {
			continue
		}
		var has []string
		for _, p := range e.records[cluster].Ports {
			has = append(has, describePort(p.Port, cmp.Or(p.Protocol, corev1.ProtocolTCP)))
		}
		described = append(described, fmt.Sprintf("cluster %s has no port %s (it exports %s)", cluster, named(lacks), cmp.Or(named(has), "no port")))
	}
	return described
}

// sourceRanges returns the Service's source ranges; none admits all clients. It parses like the API server, which
// accepts surrounding blanks and leading zeros. An invalid range admits no client.
func sourceRanges(service *corev1.Service) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range service.Spec.LoadBalancerSourceRanges {
		_, parsed, err := netutils.ParseCIDRSloppy(strings.TrimSpace(text))
		prefix := cloudprovider.NoClients
		if err == nil {
			ones, _ := parsed.Mask.Size()
			if address, ok := netip.AddrFromSlice(parsed.IP); ok {
				if address.Is4In6() { // for example ::ffff:192.0.2.0/120, whose last 32 bits are the IPv4 address
					ones -= 96
				}
				prefix = netip.PrefixFrom(address.Unmap(), ones)
			}
		}
		all = append(all, prefix)
	}
	return all
}

func affinity(service *corev1.Service) time.Duration {
	if service.Spec.SessionAffinity != corev1.ServiceAffinityClientIP {
		return 0
	}
	config := service.Spec.SessionAffinityConfig
	if config == nil || config.ClientIP == nil || config.ClientIP.TimeoutSeconds == nil {
		return defaultAffinity
	}
	return time.Duration(*config.ClientIP.TimeoutSeconds) * time.Second
}

// endpoints returns the addresses of a port by cluster, and whether each is draining. An address in several slices of
// a cluster is draining only if it is in all of them.
func endpoints(name string, protocol corev1.Protocol, number int32, records map[string]*brokerv1alpha1.ExportedServiceSpec, published []*discoveryv1.EndpointSlice) map[string]map[netip.AddrPort]bool {
	found := map[string]map[netip.AddrPort]bool{}
	for _, slice := range published {
		cluster := layout.Cluster(slice).String()
		inCluster, has := nameIn(records[cluster], name, protocol, number)
		if !has {
			continue
		}
		if found[cluster] == nil {
			found[cluster] = map[netip.AddrPort]bool{}
		}
		for _, port := range slice.Ports {
			if port.Port == nil || ptr.Deref(port.Name, "") != inCluster || ptr.Deref(port.Protocol, corev1.ProtocolTCP) != protocol {
				continue
			}
			for i := range slice.Endpoints {
				collect(found[cluster], &slice.Endpoints[i], uint16(*port.Port))
			}
		}
	}
	drain(found, records)
	return found
}

// drain marks the endpoints of drained clusters as draining, if another cluster has a ready endpoint.
func drain(found map[string]map[netip.AddrPort]bool, records map[string]*brokerv1alpha1.ExportedServiceSpec) {
	others := false
	for cluster, addresses := range found {
		for _, draining := range addresses {
			others = others || !draining && !records[cluster].Drained
		}
	}
	for cluster, addresses := range found {
		for a := range addresses {
			addresses[a] = addresses[a] || others && records[cluster].Drained
		}
	}
}

// collect adds an endpoint if it is ready or draining.
func collect(found map[netip.AddrPort]bool, e *discoveryv1.Endpoint, port uint16) {
	ready := ptr.Deref(e.Conditions.Ready, true) // EndpointConditions: nil means ready
	draining := !ready && ptr.Deref(e.Conditions.Terminating, false) && ptr.Deref(e.Conditions.Serving, false)
	if !ready && !draining {
		return
	}
	for _, text := range e.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil {
			continue // never happens: admit refuses such addresses
		}
		at := netip.AddrPortFrom(a, port)
		if had, there := found[at]; !there || had {
			found[at] = draining
		}
	}
}

// nameIn returns the name that a cluster's Service has for a port. It prefers the same protocol and number, which
// clients use, over the same name.
func nameIn(record *brokerv1alpha1.ExportedServiceSpec, name string, protocol corev1.Protocol, number int32) (string, bool) {
	is := func(f func(mcsv1beta1.ServicePort) bool) (string, bool) {
		for _, p := range record.Ports {
			if (p.Protocol == protocol || p.Protocol == "" && protocol == corev1.ProtocolTCP) && f(p) {
				return p.Name, true
			}
		}
		return "", false
	}
	if in, has := is(func(p mcsv1beta1.ServicePort) bool { return p.Port == number }); has {
		return in, true
	}
	return is(func(p mcsv1beta1.ServicePort) bool { return p.Name == name })
}
