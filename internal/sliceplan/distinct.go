package sliceplan

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"
)

// builtInManager manages the slices of Services with a selector.
const builtInManager = "endpointslice-controller.k8s.io"

// MayOverlap tells whether a slice is a source that may hold endpoints which another one holds too: those of the EndpointSlice
// controller alone do not. Where a Service has one that may, all of its slices are searched, so that what is planned for
// each depends on whether there is one.
func MayOverlap(s *discoveryv1.EndpointSlice) bool {
	return isSource(s) && !Unsupported(s) && s.Labels[discoveryv1.LabelManagedBy] != builtInManager
}

// distinct returns the sources such that an endpoint which several of them hold is left in
// one. Slices overlap while a Service gets or loses its selector (after which the slices of
// both controllers may be there for good), and where people write slices of their own.
//
// Nothing is lost: every address that is reached at a port through some source still is,
// and is ready if it is in any of them. Which copy stays depends on the endpoints and on the
// slices' age alone, so that nothing changes around an overlap (docs/adr/0015). Sources
// without anything that is elsewhere too are returned as they are, the others as copies.
func distinct(sources []*discoveryv1.EndpointSlice) []*discoveryv1.EndpointSlice {
	if !slices.ContainsFunc(sources, MayOverlap) {
		return sources
	}
	repeated := repeatedAddresses(sources)
	if len(repeated) == 0 {
		return sources
	}
	dropped := dropped(copiesOf(sources, repeated))
	kept := slices.Clone(sources)
	for i, source := range sources {
		if len(dropped[i]) == 0 {
			continue
		}
		without := *source // what it refers to is shared, and not changed
		without.Endpoints = make([]discoveryv1.Endpoint, 0, len(source.Endpoints)-len(dropped[i]))
		for j := range source.Endpoints {
			if !dropped[i][j] {
				without.Endpoints = append(without.Endpoints, source.Endpoints[j])
			}
		}
		kept[i] = &without
	}
	return kept
}

// repeatedAddresses returns the addresses that there are twice.
func repeatedAddresses(sources []*discoveryv1.EndpointSlice) map[string]bool {
	n := 0
	for _, s := range sources {
		n += len(s.Endpoints)
	}
	seen := make(map[string]struct{}, n)
	var repeated map[string]bool
	for _, s := range sources {
		for i := range s.Endpoints {
			for _, address := range s.Endpoints[i].Addresses {
				address = Canonical(address)
				if _, again := seen[address]; !again {
					seen[address] = struct{}{}
					continue
				}
				if repeated == nil {
					repeated = map[string]bool{}
				}
				repeated[address] = true
			}
		}
	}
	return repeated
}

// Canonical writes an address in the one form that it shares with all others that mean the
// same; IPv6 addresses have several.
func Canonical(address string) string {
	if !strings.Contains(address, ":") {
		return address
	}
	if parsed, err := netip.ParseAddr(address); err == nil {
		return parsed.String()
	}
	return address
}

// endpointCopy is an endpoint of which there may be another copy.
type endpointCopy struct {
	*discoveryv1.Endpoint
	source       *discoveryv1.EndpointSlice
	slice, index int // where it is in the list of sources
	ports        []string
}

// copiesOf returns the endpoints with repeated addresses, the preferred copies first.
func copiesOf(sources []*discoveryv1.EndpointSlice, repeated map[string]bool) []endpointCopy {
	var copies []endpointCopy
	for i, s := range sources {
		ports := portKeys(s.Ports)
		for j := range s.Endpoints {
			if slices.ContainsFunc(s.Endpoints[j].Addresses, func(a string) bool { return repeated[Canonical(a)] }) {
				copies = append(copies, endpointCopy{Endpoint: &s.Endpoints[j], source: s, slice: i, index: j, ports: ports})
			}
		}
	}
	slices.SortFunc(copies, preferred)
	return copies
}

// preferred orders copies: first those that traffic can go to, for an address may have
// been given to a new pod while the old one is terminating still; then those that say more,
// as the EndpointSlice controller's do and mirrored ones do not; then those of older slices,
// for the younger one may be gone in a moment.
func preferred(a, b endpointCopy) int {
	return cmp.Or(
		trueFirst(isReady(a.Endpoint), isReady(b.Endpoint)),
		trueFirst(!ptr.Deref(a.Conditions.Terminating, false), !ptr.Deref(b.Conditions.Terminating, false)),
		trueFirst(ptr.Deref(a.Conditions.Serving, true), ptr.Deref(b.Conditions.Serving, true)),
		trueFirst(a.Hostname != nil, b.Hostname != nil),
		trueFirst(a.NodeName != nil, b.NodeName != nil),
		trueFirst(a.Zone != nil, b.Zone != nil),
		cmp.Compare(len(b.ports), len(a.ports)),
		a.source.CreationTimestamp.Compare(b.source.CreationTimestamp.Time),
		cmp.Compare(a.source.Name, b.source.Name),
		cmp.Compare(a.index, b.index),
	)
}

func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	default:
		return 1
	}
}

// reach is an address at a port.
type reach struct{ address, port string }

// dropped returns those copies that reach nothing but what preferred ones reach, by slice
// and index.
func dropped(copies []endpointCopy) map[int]map[int]bool {
	dropped := map[int]map[int]bool{}
	reached := map[reach]bool{}
	for _, c := range copies {
		more := false
		for _, address := range c.Addresses {
			for _, port := range c.ports {
				at := reach{Canonical(address), port}
				more = more || !reached[at]
				reached[at] = true
			}
		}
		if more {
			continue
		}
		if dropped[c.slice] == nil {
			dropped[c.slice] = map[int]bool{}
		}
		dropped[c.slice][c.index] = true
	}
	return dropped
}

// portKeys tells a slice's ports apart. Every address counts at no port too, as that of a
// headless Service without ports does.
func portKeys(ports []discoveryv1.EndpointPort) []string {
	keys := []string{""}
	for _, p := range ports {
		keys = append(keys, fmt.Sprintf("%s/%s/%d", ptr.Deref(p.Name, ""),
			ptr.Deref(p.Protocol, corev1.ProtocolTCP), ptr.Deref(p.Port, 0)))
	}
	return keys
}
