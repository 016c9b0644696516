package sliceplan

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
)

// Admit leaves out of another cluster's slices the addresses that mean something else in this
// cluster, or nothing anywhere: traffic to them would stay here, and reach what was never
// exported; and those that the broker's owner does not allow that cluster. What a member says of
// addresses is not trusted. It returns the slices, which are the given ones where nothing is left
// out, and says what is, in words for people; "" for nothing.
func (n Network) Admit(source names.ClusterID, sources []*discoveryv1.EndpointSlice) (admitted []*discoveryv1.EndpointSlice, leftOut string) {
	if n.Allowed != nil { // which may change meanwhile
		allowed, fixed := n.Allowed(source)
		n.Allowed = func(names.ClusterID) (ranges.Set, bool) { return allowed, fixed }
	}
	admitted = sources
	count := 0
	for i, slice := range sources {
		clean, first, more := n.admit(source, slice)
		if more == 0 {
			continue
		}
		if count == 0 {
			leftOut = first
			admitted = slices.Clone(sources)
		}
		count += more
		admitted[i] = clean
	}
	if count == 0 {
		return sources, ""
	}
	if count > 1 {
		leftOut = fmt.Sprintf("%s, and %d more addresses", leftOut, count-1)
	}
	return admitted, fmt.Sprintf("Endpoints of cluster %q are left out, because they can't be what they are said to be: %s.", source, leftOut)
}

// admit leaves out of one slice what has to be, and returns the first of it, with why, and how
// many it is.
func (n Network) admit(source names.ClusterID, slice *discoveryv1.EndpointSlice) (clean *discoveryv1.EndpointSlice, first string, count int) {
	if slice.AddressType == discoveryv1.AddressTypeFQDN {
		return slice, "", 0 // no family of any import
	}
	refused := func(address string) bool {
		why := n.refuses(source, slice.AddressType, address)
		if why == "" {
			return false
		}
		if count == 0 {
			first = fmt.Sprintf("%.50q %s", address, why)
		}
		count++
		return true
	}
	for i := range slice.Endpoints {
		if !slices.ContainsFunc(slice.Endpoints[i].Addresses, func(a string) bool { return n.refuses(source, slice.AddressType, a) != "" }) {
			continue
		}
		if clean == nil {
			clean = slice.DeepCopy()
		}
		clean.Endpoints[i].Addresses = slices.DeleteFunc(clean.Endpoints[i].Addresses, refused)
	}
	if clean == nil {
		return slice, "", 0
	}
	clean.Endpoints = slices.DeleteFunc(clean.Endpoints, func(e discoveryv1.Endpoint) bool { return len(e.Addresses) == 0 })
	return clean, first, count
}

// refuses says why an address can't be an endpoint of another cluster's, "" where it can.
func (n Network) refuses(source names.ClusterID, family discoveryv1.AddressType, text string) string {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil || address.Zone() != "":
		return "is no address"
	case address.Is4() != (family == discoveryv1.AddressTypeIPv4) || address.Is4In6():
		return "is not of the slice's family"
	case address.IsLoopback():
		return "is a loopback address"
	case address.IsLinkLocalUnicast():
		return "is a link-local address"
	case address.IsMulticast():
		return "is a multicast address"
	case !address.IsGlobalUnicast():
		return "is no address of a pod"
	case n.IsHost != nil && n.IsHost(address):
		return "is the address of a node, or of the API server, here"
	}
	for _, own := range []struct {
		of     string
		ranges []netip.Prefix
	}{{"Services", n.Services}, {"pods", n.Pods}} {
		for _, r := range own.ranges {
			if r.Contains(address) {
				return fmt.Sprintf("is in the range %s of the %s here", r, own.of)
			}
		}
	}
	if n.Allowed != nil {
		if allowed, fixed := n.Allowed(source); fixed && !allowed.Contains(address) {
			return "is none of those that the broker's owner allows that cluster: " + some(allowed)
		}
	}
	return ""
}

// some names ranges, not all of them where these are many.
func some(allowed ranges.Set) string {
	const most = 4 // an Event's note has room for 1024 characters
	texts := allowed.Texts()
	switch more := len(texts) - most; {
	case len(texts) == 0:
		return "none at all"
	case more > 0:
		return fmt.Sprintf("%s and %d more ranges", strings.Join(texts[:most], ", "), more)
	}
	return strings.Join(texts, ", ")
}
