package convergence

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// served is an endpoint at a port, from a cluster's slice.
type served struct {
	cluster, source, port, address string
	number                         int32 // of the port, 0 if none
}

// atPorts returns an endpoint at each port of a slice, or at none if the slice has no ports.
func atPorts(cluster, source string, ports []discoveryv1.EndpointPort, e discoveryv1.Endpoint) (all []served) {
	if len(ports) == 0 {
		return []served{{cluster, source, "", e.Addresses[0], 0}}
	}
	for _, p := range ports {
		all = append(all, served{cluster, source, fmt.Sprintf("%s %s", ptr.Deref(p.Name, ""), ptr.Deref(p.Protocol, corev1.ProtocolTCP)), e.Addresses[0], ptr.Deref(p.Port, 0)})
	}
	return all
}

// viewpoint is what the roles of an import's endpoints depend on in one cluster, besides the endpoints.
type viewpoint struct {
	*cluster
	imp     *mcsv1beta1.ServiceImport
	exports []merge.Export
	drained map[string]bool // by cluster
	silent  map[string]bool
	lost    map[string]bool // some of those that are silent
	want    *wish           // nil for none
}

func (t *truth) viewOf(c *cluster, imp *mcsv1beta1.ServiceImport, exports []merge.Export) viewpoint {
	v := viewpoint{cluster: c, imp: imp, exports: exports, drained: map[string]bool{}, want: t.wishFor(c, imp, exports)}
	for _, e := range exports {
		if e.Drained || t.config[permissions.DrainedPrefix+e.ClusterID] == "true" {
			v.drained[e.ClusterID] = true
		}
	}
	v.findSilent(t.world)
	return v
}

// hasRoles reports whether the endpoints of an import have roles: one of the exporting clusters is drained or silent, or clusters are preferred
// or share the traffic.
func (v viewpoint) hasRoles() bool {
	return len(v.drained)+len(v.silent) > 0 || v.want != nil && len(v.want.groups) > 0 || v.weighs()
}

// order is what the clusters of a port are compared with.
type order struct {
	shuns  map[string]bool // clusters that are silent, while another usable one is not
	drains map[string]bool // clusters that are drained, while another usable one that is not shunned is not
	// best is the first preferred group with a usable cluster that is eligible, and next the first one behind it.
	best, next int
}

const last = 1 << 20

// orderOf compares the clusters with a ready endpoint at a port, and their groups.
func (v viewpoint) orderOf(usable ready, rank map[string]int) order {
	o := order{best: last, next: last}
	for id := range usable {
		if rank[id] != never && !v.silent[id] {
			o.shuns = v.silent
		}
	}
	for id := range usable {
		if rank[id] != never && !o.shuns[id] && !v.drained[id] {
			o.drains = v.drained
		}
	}
	for _, pass := range []*int{&o.best, &o.next} {
		for id := range usable {
			if r := rank[id]; r != never && o.isEligible(id) && r < *pass && (pass == &o.best || r > o.best) {
				*pass = r
			}
		}
	}
	return o
}

func (o order) isEligible(id string) bool { return !o.shuns[id] && !o.drains[id] }

// list returns the port for which an endpoint is used. Headless services have one list of addresses for all ports.
func (v viewpoint) list(s served) string {
	if v.imp.Spec.Type == mcsv1beta1.Headless {
		return ""
	}
	return s.port
}

// roleProblems checks the endpoints of an import with roles: at each port, the ready endpoints of drained clusters stand by while
// another cluster has a ready one, and so do those of the next preferred clusters. Those behind are missing, and those of clusters
// that are not to be used.
func (w *world) roleProblems(f *findings, v viewpoint, have map[part][]discoveryv1.EndpointSlice) {
	truth, usable := w.sources(v)
	written := v.written(have)
	rank, found := w.ranks(v), v.found(f, have)
	want, plans, hasUDP := map[served]string{}, map[string]plan{}, w.hasUDP(v)
	reasons := map[served]choice.Reason{}
	for port, clusters := range usable {
		plans[port] = v.planOf(clusters, rank)
		v.shareProblems(f, port, clusters, plans[port].seats, found)
	}
	for s, conditions := range truth {
		p := plans[v.list(s)]
		text, reason := v.expected(s, conditions, p.order, rank[s.cluster])
		switch {
		case reason == choice.Silent && hasUDP && v.imp.Spec.Type != mcsv1beta1.Headless:
			text = "off"
		case isReady(text) && p.seats != nil && (p.seats[s.cluster] == 0 || found[s] == "standby"):
			text, reason = "standby", v.want.unshared(s.cluster) // the importing cluster chooses which endpoints are in use
		}
		if text != "" {
			want[s], reasons[s] = text, reason
		}
	}
	f.same("roles in "+keyOf(v.imp).String(), found, want)
	markProblems(f, written, reasons)
}

// sources returns the endpoints of an import at their sources, and the ready ones by port.
func (w *world) sources(v viewpoint) (all map[served]discoveryv1.EndpointConditions, usable map[string]ready) {
	all, usable = map[served]discoveryv1.EndpointConditions{}, map[string]ready{}
	for _, e := range v.exports {
		from := w.cluster(e.ClusterID)
		for _, slice := range v.slicesOf(w, e) {
			ports := portsOf(slice.Ports, v.imp, e)
			for _, s := range atPorts(e.ClusterID, slice.Name, ports, discoveryv1.Endpoint{Addresses: []string{""}}) {
				if usable[v.list(s)] == nil {
					usable[v.list(s)] = ready{} // a port without endpoints is a port, too
				}
			}
			for _, endpoint := range usableOf(v.cluster, from, slice) {
				for _, s := range atPorts(e.ClusterID, slice.Name, ports, endpoint) {
					all[s] = endpoint.Conditions
					usable[v.list(s)].add(s, endpoint.Conditions)
				}
			}
		}
	}
	return all, usable
}

// expected returns how an endpoint of a group is written, "" if it is not, and why it stands by.
func (v viewpoint) expected(s served, source discoveryv1.EndpointConditions, o order, rank int) (text string, reason choice.Reason) {
	ready := ptr.Deref(source.Ready, true)
	terminates := ptr.Deref(source.Serving, ready) && ptr.Deref(source.Terminating, false)
	drains := o.drains[s.cluster]
	switch {
	case rank == never, rank > o.next:
		return "", ""
	case ready && o.shuns[s.cluster]:
		return "standby", choice.Silent
	case ready && drains:
		return "standby", choice.Drained
	case ready && rank > o.best:
		return "standby", choice.BehindPreferred
	case !ready && terminates && o.best < last:
		return "off", ""
	}
	return writeConditions(source), ""
}

// found returns how endpoints of an import are written, and removes them from have.
func (v viewpoint) found(f *findings, have map[part][]discoveryv1.EndpointSlice) map[served]string {
	found := map[served]string{}
	for _, e := range v.exports {
		key := part{keyOf(v.imp), e.ClusterID}
		for _, slice := range have[key] {
			for _, endpoint := range slice.Endpoints {
				for _, s := range atPorts(e.ClusterID, slice.Annotations[names.AnnotationSourceSlice], slice.Ports, endpoint) {
					if _, again := found[s]; again {
						f.add("%v is in two slices of %s", s, v.id)
					}
					found[s] = writeConditions(endpoint.Conditions)
				}
			}
		}
		delete(have, key)
	}
	return found
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
