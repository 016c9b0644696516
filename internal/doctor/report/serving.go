package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// portKey is what kube-proxy matches between a Service's ports and those of its EndpointSlices.
type portKey struct {
	name     string
	protocol corev1.Protocol
}

func keyOf(p mcsv1beta1.ServicePort) portKey {
	return portKey{p.Name, cmp.Or(p.Protocol, corev1.ProtocolTCP)}
}

// usablePorts returns the ports of an EndpointSlice that kube-proxy uses: those with a name, even an empty one, and a number.
func usablePorts(list []discoveryv1.EndpointPort) []portKey {
	var all []portKey
	for _, p := range list {
		if p.Name != nil && ptr.Deref(p.Port, 0) != 0 {
			all = append(all, portKey{*p.Name, ptr.Deref(p.Protocol, corev1.ProtocolTCP)})
		}
	}
	return all
}

// canServe reports whether clients of a service with these ports reach the endpoint. Clients of a headless service connect
// to the address that DNS returns, on any port.
func (e Endpoint) canServe(headless bool, ports []portKey) bool {
	return e.State == EndpointReady && (headless || e.hasPort(ports))
}

func (e Endpoint) hasPort(ports []portKey) bool {
	return slices.ContainsFunc(e.usable, func(p portKey) bool { return slices.Contains(ports, p) })
}

// isIPv6 reports the family of an endpoint's addresses.
func (e Endpoint) isIPv6() bool { return len(e.Addresses) > 0 && strings.Contains(e.Addresses[0], ":") }

// unserved returns the ports of an import at its clusterset IPs that no endpoint serves, those that only endpoints serve
// which are not ready, and whether any is served. DNS returns only ready endpoints of a headless service.
func (i *Import) unserved(all []Endpoint) (missing, fallback []string, anyServed bool) {
	if i.isHeadless() {
		return nil, nil, slices.ContainsFunc(all, func(e Endpoint) bool { return e.canServe(true, nil) })
	}
	for _, ip := range i.IPs {
		for at, port := range i.keys {
			some := func(serves func(Endpoint) bool) bool {
				return slices.ContainsFunc(all, func(e Endpoint) bool {
					return e.isIPv6() == strings.Contains(ip, ":") && e.hasPort([]portKey{port}) && serves(e)
				})
			}
			switch text := i.Ports[at] + " at " + ip; {
			case some(func(e Endpoint) bool { return e.State == EndpointReady }):
				anyServed = true
			case some(func(e Endpoint) bool { return e.fallback }):
				anyServed, fallback = true, append(fallback, text)
			default:
				missing = append(missing, text)
			}
		}
	}
	return missing, fallback, anyServed
}

// unserved adds the ports that no ready endpoint serves. missing are those that none serves.
func (x *Explanation) unserved(missing, fallback []string) {
	if len(fallback) > 0 {
		x.Findings.add(Warning, "endpoints", fmt.Sprintf("No ready endpoint serves %s. Connections go to endpoints that are terminating or on standby, but still serve.", strings.Join(fallback, ", ")),
			"The table of endpoints below shows the reason for each cluster.")
	}
	if len(missing) > 0 {
		x.Findings.add(Error, "endpoints", fmt.Sprintf("No ready endpoint serves %s: the imported EndpointSlices of that address family lack the port, or their endpoints are not ready. Connections to these ports are refused.", strings.Join(missing, ", ")),
			"Compare the ports of the Service and of its EndpointSlices in the exporting clusters: "+command.Of("CLUSTER").Kubectl("get endpointslices -n %s -l %s=%s", x.Import.Namespace, discoveryv1.LabelServiceName, x.Import.Name))
	}
}

// derived checks the derived Service, which makes kube-proxy route the clusterset IPs. It returns false if clients cannot
// reach these.
func (x *Explanation) derived(s *survey.Survey) bool {
	if x.Import == nil || x.Import.Status == foreign || x.Import.isHeadless() || len(s.Unread) > 0 {
		return true
	}
	do := "The agents restore the derived Service. Check the agents: " + s.On.Atoll("status")
	at := slices.IndexFunc(s.Cluster.Services, func(d corev1.Service) bool {
		return x.DerivedService != "" && d.Namespace == x.Import.Namespace && d.Name == x.DerivedService
	})
	if at < 0 {
		x.Findings.add(Error, "derived Service", fmt.Sprintf("The derived Service of ServiceImport %s/%s does not exist, so connections to the clusterset IP fail.", x.Import.Namespace, x.Import.Name), do)
		return false
	}
	d := s.Cluster.Services[at]
	about := "derived Service " + d.Namespace + "/" + d.Name
	if d.DeletionTimestamp != nil {
		x.Findings.add(Warning, about, fmt.Sprintf("The derived Service is being deleted. The deletion waits for %s. The Service serves until then.", finalizers(&d)), do)
	}
	if len(d.Spec.Selector) > 0 {
		x.Findings.add(Error, about, "Another tool or person set a selector on the derived Service, so Kubernetes adds endpoints of this cluster's pods. Some connections go to these pods.", do)
	}
	for _, ip := range x.Import.IPs {
		if !slices.Contains(d.Spec.ClusterIPs, ip) {
			x.Findings.add(Error, about, fmt.Sprintf("The ServiceImport has the clusterset IP %s, but the derived Service has %s. Clients that resolve the name cannot connect.", ip, strings.Join(d.Spec.ClusterIPs, ", ")), do)
			return false
		}
	}
	var missing []string
	for i, port := range x.Import.keys {
		if !slices.ContainsFunc(d.Spec.Ports, func(p corev1.ServicePort) bool {
			return p.Name == port.name && cmp.Or(p.Protocol, corev1.ProtocolTCP) == port.protocol && p.Port == x.Import.numbers[i]
		}) {
			missing = append(missing, x.Import.Ports[i])
		}
	}
	if len(missing) > 0 {
		x.Findings.add(Error, about, fmt.Sprintf("The derived Service lacks the ports %s. Connections to these ports fail.", strings.Join(missing, ", ")), do)
	}
	return x.localPolicy(s, &d) && len(missing) < len(x.Import.keys)
}

// localPolicy reports the internal traffic policy Local, with which kube-proxy uses only endpoints of the client's node:
// none of another cluster. It returns false if no endpoint is on a node of this cluster.
func (x *Explanation) localPolicy(s *survey.Survey, d *corev1.Service) bool {
	if ptr.Deref(d.Spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster) != corev1.ServiceInternalTrafficPolicyLocal {
		return true
	}
	x.Findings.add(Warning, "endpoints", "The service has internalTrafficPolicy Local, so pods reach only endpoints on their own node, and no endpoints of other clusters.",
		"To use endpoints of all clusters, set internalTrafficPolicy: Cluster in this cluster's exported Service.")
	return slices.ContainsFunc(s.Cluster.Slices, func(slice discoveryv1.EndpointSlice) bool {
		return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return e.NodeName != nil && state(e) == EndpointReady })
	})
}

// heartbeats adds the exporting clusters with serving endpoints that may be outdated, because the broker has no current
// heartbeat of these clusters. It returns false if all serving endpoints are such.
func (x *Explanation) heartbeats(s *survey.Survey) bool {
	if s.Broker == nil {
		return true // reported as unreadable
	}
	members := Members(s)
	current, outdated := false, false
	for _, source := range x.Sources {
		if source.ReadyHere == 0 {
			continue
		}
		at := slices.IndexFunc(members, func(m Member) bool { return m.Cluster == source.Cluster })
		if at >= 0 && members[at].State == MemberReady || source.Cluster == x.Cluster {
			current = true
			continue
		}
		outdated = true
		if s.Cluster.Silent[source.Cluster] != "" {
			x.Findings.silent(s, source.Cluster)
			continue
		}
		what := fmt.Sprintf("The broker has no heartbeat from cluster %s.", source.Cluster)
		if at >= 0 && members[at].HeartbeatSeconds != nil {
			what = fmt.Sprintf("No heartbeat from cluster %s for %s.", source.Cluster, age(*members[at].HeartbeatSeconds))
		}
		x.Findings.add(Warning, AboutCluster+source.Cluster, what+" This cluster still uses its last known endpoints, which may no longer answer.",
			"Check the agents of cluster "+source.Cluster+": "+command.Of(source.Cluster).Atoll("status"))
	}
	return current || !outdated
}
