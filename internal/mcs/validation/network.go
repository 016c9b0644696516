package validation

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// Network is an importing cluster's network, or the hub's, which has only a machine and an API server.
type Network struct {
	// Services and Pods are the cluster's own ranges, if known.
	Services, Pods []netip.Prefix
	// Learned are its nodes' pod ranges, kept current; nil for none.
	Learned Ranges
	// IsHost reports whether an address belongs to a node or the API server; nil for none.
	IsHost func(netip.Addr) bool
	// Allowed returns the permitted addresses of a cluster's endpoints, and false if any are permitted. nil permits
	// all. The broker's owner sets it.
	Allowed func(names.ClusterID) (ranges.Set, bool)
}

// Ranges are address ranges that change.
type Ranges interface {
	// Contains reports whether a range contains an address.
	Contains(netip.Addr) bool
	All() []netip.Prefix
}

// ParseNetwork reads the ranges of a cluster's Services and pods.
func ParseNetwork(services, pods []string) (Network, error) {
	var n Network
	for _, list := range []struct {
		from []string
		to   *[]netip.Prefix
	}{{services, &n.Services}, {pods, &n.Pods}} {
		for _, cidr := range list.from {
			prefix, err := netip.ParsePrefix(cidr)
			if err != nil {
				return Network{}, fmt.Errorf("%q is not an address range such as 10.1.0.0/16: %w", cidr, err)
			}
			*list.to = append(*list.to, prefix.Masked())
		}
	}
	return n, nil
}

// Slice removes endpoints of another cluster's EndpointSlice whose addresses have another meaning in this cluster,
// where their traffic would reach other backends, or are not permitted by the broker's owner. It returns the given
// slice if there are none.
func (n Network) Slice(source names.ClusterID, slice *discoveryv1.EndpointSlice) (clean *discoveryv1.EndpointSlice, refused []Refused) {
	if n.Allowed != nil { // it may change meanwhile
		allowed, fixed := n.Allowed(source)
		n.Allowed = func(names.ClusterID) (ranges.Set, bool) { return allowed, fixed }
	}
	kept := slice.Endpoints
	for i := range slice.Endpoints {
		why := ""
		for _, text := range slice.Endpoints[i].Addresses {
			if why = n.addressProblem(source, slice.AddressType, text); why != "" {
				refused = append(refused, Refused{"endpoint " + quote(text), why})
				break
			}
		}
		switch {
		case why == "" && len(refused) > 0:
			kept = append(kept, slice.Endpoints[i])
		case why != "" && len(refused) == 1:
			kept = slices.Clone(slice.Endpoints[:i])
		}
	}
	if len(refused) == 0 {
		return slice, nil
	}
	short := *slice
	short.Endpoints = kept
	return &short, refused
}

// Admits reports whether an endpoint of another cluster may have an address.
func (n Network) Admits(source names.ClusterID, a netip.Addr) bool {
	family := discoveryv1.AddressTypeIPv6
	if a.Is4() {
		family = discoveryv1.AddressTypeIPv4
	}
	return n.addressProblem(source, family, a.String()) == ""
}

// addressProblem says why an endpoint of another cluster cannot have an address, "" if it can.
func (n Network) addressProblem(source names.ClusterID, family discoveryv1.AddressType, text string) string {
	address, why := Address(family, text)
	if why != "" {
		return why
	}
	allowed, fixed := ranges.Set{}, false
	if n.Allowed != nil {
		allowed, fixed = n.Allowed(source)
	}
	if fixed && !allowed.Contains(address) {
		return "the address is outside the ranges that the broker permits for the exporting cluster: " + describe(allowed)
	}
	for _, a := range meanings(address) {
		if why := n.ownProblem(a); why != "" {
			return why
		}
		if isMetadata(a) && !(fixed && allowed.Contains(a)) {
			return "the address is the address of a cloud provider's metadata service, unless the broker permits its range for the exporting cluster"
		}
	}
	return ""
}

// ownProblem says what an address is in this cluster, "" for nothing.
func (n Network) ownProblem(address netip.Addr) string {
	if n.IsHost != nil && n.IsHost(address) {
		return "the address belongs to a node or to the API server of this cluster"
	}
	for _, own := range n.own() {
		for _, r := range own.ranges {
			if r.Contains(address) {
				return fmt.Sprintf("the address is in this cluster's %s CIDR %s", own.of, r)
			}
		}
	}
	if n.Learned != nil && n.Learned.Contains(address) {
		return "the address is in the pod CIDR of a node in this cluster"
	}
	return ""
}

// ownRanges are ranges of the importing cluster, with their use.
type ownRanges struct {
	of     string
	ranges []netip.Prefix
}

func (n Network) own() [2]ownRanges { return [2]ownRanges{{"Service", n.Services}, {"pod", n.Pods}} }

// Overlaps describes another cluster's ranges that overlap this cluster's, "" for none.
func (n Network) Overlaps(theirs []netip.Prefix) string {
	if n.Learned != nil {
		n.Pods = slices.Concat(n.Pods, ranges.Cover(n.Learned.All()))
	}
	var found []string
	for _, t := range theirs {
		for _, own := range n.own() {
			for _, o := range own.ranges {
				if t.Overlaps(o) {
					found = append(found, fmt.Sprintf("%s overlaps this cluster's %s CIDR %s", rangeText(t), own.of, o))
				}
			}
		}
	}
	const most = 4 // an Event's note has 1024 bytes
	if more := len(found) - most; more > 0 {
		found = append(found[:most], fmt.Sprintf("further overlaps: %d", more))
	}
	return strings.Join(found, ", ")
}

// rangeText formats a range of one address as an address.
func rangeText(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

func describe(allowed ranges.Set) string {
	const most = 4 // an Event's note has 1024 bytes
	texts := allowed.Texts()
	switch more := len(texts) - most; {
	case len(texts) == 0:
		return "none"
	case more > 0:
		return fmt.Sprintf("%s and %d more ranges", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
}
