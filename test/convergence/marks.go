package convergence

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// hasUDP reports whether an import has slices with a UDP port. Proxies do not move UDP flows away from endpoints on standby.
func (w *world) hasUDP(v viewpoint) bool {
	for _, e := range v.exports {
		for _, slice := range v.slicesOf(w, e) {
			for _, p := range portsOf(slice.Ports, v.imp, e) {
				if ptr.Deref(p.Protocol, "") == corev1.ProtocolUDP {
					return true
				}
			}
		}
	}
	return false
}

// unshared returns why an endpoint of a cluster is not in use, although no other cluster is better.
func (want *wish) unshared(id string) choice.Reason {
	switch weight, listed := want.weights[id]; {
	case !listed:
		return choice.NoWeight
	case weight == 0:
		return choice.ZeroWeight
	}
	return choice.BeyondShare
}

// writtenSlice is a slice with its endpoints as the roles are for: at its first port.
type writtenSlice struct {
	*discoveryv1.EndpointSlice
	endpoints []served
}

// written returns the slices of an import.
func (v viewpoint) written(have map[part][]discoveryv1.EndpointSlice) (all []writtenSlice) {
	for _, e := range v.exports {
		for _, slice := range have[part{keyOf(v.imp), e.ClusterID}] {
			ports := slices.Clone(slice.Ports)
			slices.SortFunc(ports, func(a, b discoveryv1.EndpointPort) int {
				return cmp.Or(cmp.Compare(*a.Name, *b.Name), cmp.Compare(*a.Protocol, *b.Protocol), cmp.Compare(*a.Port, *b.Port))
			})
			one := writtenSlice{EndpointSlice: &slice}
			for _, endpoint := range slice.Endpoints {
				one.endpoints = append(one.endpoints, atPorts(e.ClusterID, slice.Annotations[names.AnnotationSourceSlice], ports, endpoint)[0])
			}
			all = append(all, one)
		}
	}
	return all
}

// markProblems checks that a slice says why all its endpoints stand by, or how many of them.
func markProblems(f *findings, all []writtenSlice, reasons map[served]choice.Reason) {
	for _, slice := range all {
		counts := map[choice.Reason]int{}
		for _, s := range slice.endpoints {
			if reason := reasons[s]; reason != "" {
				counts[reason]++
			}
		}
		label, note := "", []string{}
		for reason, n := range counts {
			if n == len(slice.endpoints) {
				label = string(reason)
			} else {
				note = append(note, fmt.Sprintf("%s=%d", reason, n))
			}
		}
		slices.Sort(note)
		if have := slice.Labels[names.LabelStandby]; have != label {
			f.add("slice %s stands by because of %q, want %q", keyOf(slice), have, label)
		}
		f.same("why endpoints stand by in slice "+keyOf(slice).String(), slice.Annotations[names.LabelStandby], strings.Join(note, ","))
	}
}
