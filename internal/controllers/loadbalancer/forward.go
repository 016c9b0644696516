package loadbalancer

import (
	"cmp"
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
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// defaultAffinity is the API's default for a Service's affinity.
const defaultAffinity = time.Duration(corev1.DefaultClientIPServiceAffinitySeconds) * time.Second

// foreign judges addresses that members publish. Nobody but this machine may be reached by the
// hub's load balancers at its loopback and link-local addresses.
var foreign sliceplan.Network

// forwards is what a load balancer forwards: the exposed ports of the hub's own Service, to the
// endpoints that the provider clusters have published. records are their exports, by cluster.
func forwards(mcs *networkingv1alpha1.MultiClusterService, service *corev1.Service, records map[string]*brokerv1alpha1.ExportedServiceSpec, published []*discoveryv1.EndpointSlice) cloudprovider.Service {
	s := cloudprovider.Service{Families: service.Spec.IPFamilies, Affinity: affinity(service), SourceRanges: sourceRanges(service)}
	published = provided(mcs, published)
	for _, port := range mcs.Spec.ExposedPorts(service) {
		protocol := cmp.Or(port.Protocol, corev1.ProtocolTCP)
		s.Ports = append(s.Ports, cloudprovider.Port{
			Name: port.Name, Protocol: protocol, Number: port.Port, Backends: backends(port.Name, protocol, port.Port, records, published),
		})
	}
	return s
}

// provided leaves of slices those of provider clusters.
func provided(mcs *networkingv1alpha1.MultiClusterService, published []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	providers := mcs.Spec.Providers()
	return slices.DeleteFunc(slices.Clone(published), func(slice *discoveryv1.EndpointSlice) bool {
		return len(providers) > 0 && !slices.Contains(providers, clusterOf(slice)) || sliceplan.Unsupported(slice)
	})
}

// remains is what is known of a load balancer's ports without its Service: those that spec.ports may mean, and what the
// provider clusters export of them.
func remains(mcs *networkingv1alpha1.MultiClusterService, records map[string]*brokerv1alpha1.ExportedServiceSpec, published []*discoveryv1.EndpointSlice) *cloudprovider.Unseen {
	u := &cloudprovider.Unseen{}
	for _, p := range mcs.Spec.Ports {
		if p.Port == 0 { // a name, and nothing tells of which number
			u.Numbers = nil
			break
		}
		u.Numbers = append(u.Numbers, p.Port)
	}
	for _, slice := range provided(mcs, published) {
		add := func(name string, protocol corev1.Protocol, number int32) {
			u.Ports = append(u.Ports, cloudprovider.Port{
				Name: name, Protocol: protocol, Number: number, Backends: backends(name, protocol, number, records, []*discoveryv1.EndpointSlice{slice}),
			})
		}
		record := records[clusterOf(slice)]
		if record == nil { // they are published, of whichever port
			for _, port := range slice.Ports {
				add(ptr.Deref(port.Name, ""), ptr.Deref(port.Protocol, corev1.ProtocolTCP), 0)
			}
			continue
		}
		for _, port := range record.Ports {
			if mcs.Spec.Exposes(port.Name, port.Port) { // its cluster may not know yet what is not
				add(port.Name, cmp.Or(port.Protocol, corev1.ProtocolTCP), port.Port)
			}
		}
	}
	return u
}

// nobody is a range that no client is in.
var nobody = netip.MustParsePrefix("0.0.0.0/32")

// sourceRanges are those that the Service lets in, none for all. They are read as the API server reads
// them, which takes blanks around a range, and zeros before a number. What can't be read lets in nobody.
func sourceRanges(service *corev1.Service) []netip.Prefix {
	var all []netip.Prefix
	for _, text := range service.Spec.LoadBalancerSourceRanges {
		_, parsed, err := netutils.ParseCIDRSloppy(strings.TrimSpace(text))
		prefix := nobody
		if err == nil {
			ones, _ := parsed.Mask.Size()
			if address, ok := netip.AddrFromSlice(parsed.IP); ok {
				prefix = netip.PrefixFrom(address.Unmap(), ones)
			}
		}
		all = append(all, prefix)
	}
	return all
}

// within leaves out of slices what the broker's owner does not allow their clusters.
func within(allowed func(names.ClusterID) (ranges.Set, bool), published []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	network := sliceplan.Network{Allowed: allowed}
	var admitted []*discoveryv1.EndpointSlice
	for _, slice := range published {
		clean, _ := network.Admit(names.ClusterID(clusterOf(slice)), []*discoveryv1.EndpointSlice{slice})
		admitted = append(admitted, clean...)
	}
	return admitted
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

func clusterOf(slice *discoveryv1.EndpointSlice) string {
	return slice.Labels[names.LabelSourceCluster]
}

// backends returns a port's, each address once, sorted.
func backends(name string, protocol corev1.Protocol, number int32, records map[string]*brokerv1alpha1.ExportedServiceSpec, published []*discoveryv1.EndpointSlice) []cloudprovider.Backend {
	found := map[netip.AddrPort]cloudprovider.Backend{}
	for _, slice := range published {
		inCluster, has := nameIn(records[clusterOf(slice)], name, protocol, number)
		if !has {
			continue
		}
		for _, port := range slice.Ports {
			if port.Port == nil || ptr.Deref(port.Name, "") != inCluster || ptr.Deref(port.Protocol, corev1.ProtocolTCP) != protocol {
				continue
			}
			for i := range slice.Endpoints {
				collect(found, &slice.Endpoints[i], uint16(*port.Port), clusterOf(slice))
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b cloudprovider.Backend) int { return a.Address.Compare(b.Address) })
}

// collect adds an endpoint if it gets traffic. One that another slice has too is draining only
// if it is so in both.
func collect(found map[netip.AddrPort]cloudprovider.Backend, e *discoveryv1.Endpoint, port uint16, cluster string) {
	ready := ptr.Deref(e.Conditions.Ready, true) // the API: nil is to be taken for ready
	draining := !ready && ptr.Deref(e.Conditions.Terminating, false) && ptr.Deref(e.Conditions.Serving, false)
	if !ready && !draining {
		return
	}
	for _, text := range e.Addresses {
		a, err := netip.ParseAddr(text)
		if err != nil || !foreign.Admits(names.ClusterID(cluster), a) {
			continue
		}
		at := netip.AddrPortFrom(a, port)
		if had, there := found[at]; !there || had.Draining {
			found[at] = cloudprovider.Backend{Address: at, Cluster: cluster, Draining: draining}
		}
	}
}

// nameIn returns the name that a cluster's Service has for a port: that of the same protocol and
// number, which is what clients know, or else the same name. A cluster whose record is not there is
// taken to have the same names.
func nameIn(record *brokerv1alpha1.ExportedServiceSpec, name string, protocol corev1.Protocol, number int32) (string, bool) {
	if record == nil {
		return name, true
	}
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
