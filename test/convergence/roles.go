package convergence

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// served is an endpoint at a port, from a cluster's slice.
type served struct{ cluster, source, port, address string }

// atPorts returns an endpoint at each port of a slice, or at none if the slice has no ports.
func atPorts(cluster, source string, ports []discoveryv1.EndpointPort, e discoveryv1.Endpoint) (all []served) {
	if len(ports) == 0 {
		return []served{{cluster, source, "", e.Addresses[0]}}
	}
	for _, p := range ports {
		all = append(all, served{cluster, source, fmt.Sprintf("%s %s", ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, corev1.ProtocolTCP)), e.Addresses[0]})
	}
	return all
}

// drains reports whether a cluster drains one of the exports.
func drains(exports []merge.Export) bool {
	for _, e := range exports {
		if e.Drained {
			return true
		}
	}
	return false
}

// roleProblems checks the endpoints of an import of which a cluster drains its part: at each port, the ready endpoints of drained
// clusters stand by while another cluster has a ready one. Headless services have one list of addresses for all ports.
func (w *world) roleProblems(f *findings, c *cluster, imp *mcsv1beta1.ServiceImport, exports []merge.Export, have map[part][]discoveryv1.EndpointSlice) {
	headless := imp.Spec.Type == mcsv1beta1.Headless
	truth, drained := map[served]discoveryv1.EndpointConditions{}, map[string]bool{}
	others, usable := map[string]bool{}, map[string]bool{} // ports with a ready endpoint of a cluster that is not drained, or of any
	list := func(s served) string {
		if headless {
			return ""
		}
		return s.port
	}
	for _, e := range exports {
		from := w.cluster(e.ClusterID)
		drained[e.ClusterID] = e.Drained
		for _, slice := range from.addresses(keyOf(imp)) {
			if slice.AddressType != discoveryv1.AddressTypeIPv4 {
				continue
			}
			for _, endpoint := range usableOf(c, from, slice) {
				for _, s := range atPorts(e.ClusterID, slice.Name, portsOf(slice.Ports, imp, e), endpoint) {
					truth[s] = endpoint.Conditions
					if ptr.Deref(endpoint.Conditions.Ready, true) {
						usable[list(s)] = true
						others[list(s)] = others[list(s)] || !e.Drained
					}
				}
			}
		}
	}
	want, found := map[served]string{}, map[served]string{}
	for s, conditions := range truth {
		ready := ptr.Deref(conditions.Ready, true)
		terminates := ptr.Deref(conditions.Serving, ready) && ptr.Deref(conditions.Terminating, false)
		switch {
		case drained[s.cluster] && others[list(s)] && headless:
		case ready && drained[s.cluster] && others[list(s)]:
			want[s] = "standby"
		case !ready && terminates && usable[list(s)]:
			want[s] = "off"
		default:
			want[s] = writeConditions(conditions)
		}
	}
	for _, e := range exports {
		key := part{keyOf(imp), e.ClusterID}
		for _, slice := range have[key] {
			for _, endpoint := range slice.Endpoints {
				for _, s := range atPorts(e.ClusterID, slice.Annotations[names.AnnotationSourceSlice], slice.Ports, endpoint) {
					if _, again := found[s]; again {
						f.add("%v is in two slices of %s", s, c.id)
					}
					found[s] = writeConditions(endpoint.Conditions)
				}
			}
		}
		delete(have, key)
	}
	f.same("roles in "+keyOf(imp).String(), found, want)
}

// usableOf returns the endpoints of another cluster's slice, or of its own, that a cluster imports.
func usableOf(c, from *cluster, slice *discoveryv1.EndpointSlice) (all []discoveryv1.Endpoint) {
	for _, e := range usable(slice) {
		if from == c || c.admits(from, e) {
			all = append(all, e)
		}
	}
	return all
}

func writeConditions(c discoveryv1.EndpointConditions) string {
	ready, serving, terminating := ptr.Deref(c.Ready, true), writeBool(c.Serving), ptr.Deref(c.Terminating, false)
	switch {
	case !ready && serving == "true" && terminating:
		return "standby"
	case !ready && serving == "false" && terminating:
		return "off"
	}
	return fmt.Sprintf("ready=%t serving=%s terminating=%t", ready, serving, terminating)
}
