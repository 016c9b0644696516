package convergence

import (
	"fmt"
	"slices"

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

// hasRoles reports whether the endpoints of an import have roles: a cluster drains one of the exports, or the importing cluster prefers
// some clusters.
func (c *cluster) hasRoles(imp *mcsv1beta1.ServiceImport, exports []merge.Export) bool {
	return slices.ContainsFunc(exports, func(e merge.Export) bool { return e.Drained }) || len(c.preferred(imp)) > 0
}

// preferred returns the ids of the clusters that a cluster prefers for a service, the best ones first.
func (c *cluster) preferred(imp *mcsv1beta1.ServiceImport) [][]string {
	if imp.Spec.Type == mcsv1beta1.Headless {
		return nil // headless services have no order
	}
	return c.users.prefers[keyOf(imp)]
}

// order is what the clusters of a port are compared with.
type order struct {
	usable map[string]bool // clusters with a ready endpoint
	drains map[string]bool // clusters that are drained, while another usable one is not
	// best is the first preferred group with a usable cluster that is not drained, and next the first one behind it.
	best, next int
}

const last = 1 << 20

// rank returns the group of a cluster: those that are not preferred are behind.
func rank(preferred [][]string, id string) int {
	if i := slices.IndexFunc(preferred, func(ids []string) bool { return slices.Contains(ids, id) }); i >= 0 {
		return i
	}
	return len(preferred)
}

func orderOf(usable, drained map[string]bool, preferred [][]string) order {
	o := order{usable: usable, drains: map[string]bool{}, best: last, next: last}
	for id := range usable {
		if !drained[id] {
			o.drains = drained
		}
	}
	for _, pass := range []*int{&o.best, &o.next} {
		for id := range usable {
			if r := rank(preferred, id); !o.drains[id] && r < *pass && (pass == &o.best || r > o.best) {
				*pass = r
			}
		}
	}
	return o
}

// roleProblems checks the endpoints of an import with roles: at each port, the ready endpoints of drained clusters stand by while
// another cluster has a ready one, and so do those of the next preferred clusters. Those behind are missing. Headless services have one
// list of addresses for all ports.
func (w *world) roleProblems(f *findings, c *cluster, imp *mcsv1beta1.ServiceImport, exports []merge.Export, have map[part][]discoveryv1.EndpointSlice) {
	headless, preferred := imp.Spec.Type == mcsv1beta1.Headless, c.preferred(imp)
	truth, drained := map[served]discoveryv1.EndpointConditions{}, map[string]bool{}
	usable := map[string]map[string]bool{} // clusters with a ready endpoint, by port
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
					if usable[list(s)] == nil {
						usable[list(s)] = map[string]bool{}
					}
					if ptr.Deref(endpoint.Conditions.Ready, true) {
						usable[list(s)][s.cluster] = true
					}
				}
			}
		}
	}
	want, found := map[served]string{}, map[served]string{}
	for s, conditions := range truth {
		ready := ptr.Deref(conditions.Ready, true)
		terminates := ptr.Deref(conditions.Serving, ready) && ptr.Deref(conditions.Terminating, false)
		o := orderOf(usable[list(s)], drained, preferred)
		switch r := rank(preferred, s.cluster); {
		case r > o.next, o.drains[s.cluster] && headless: // missing
		case ready && (o.drains[s.cluster] || r > o.best):
			want[s] = "standby"
		case !ready && terminates && o.best < last:
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
