package share

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// AddressesOfMember is the part of a cluster's Service addresses that imports from one member may use.
	AddressesOfMember = 0.25
	// addressesFull is the part in use from which on no import gets an address: the rest is for the cluster's own Services.
	addressesFull = 0.95
)

// Addresses counts the Service addresses of a cluster that are in use, and those that imports use, by the members that export
// them. An import that has an address keeps it. One that several members export gets an address if one of them has any left.
// Create with NewAddresses; its methods may be called concurrently.
type Addresses struct {
	ranges []netip.Prefix
	size   map[corev1.IPFamily]float64 // of families with a known range

	mu      sync.Mutex
	used    map[corev1.IPFamily]int
	imports map[types.NamespacedName][]names.ClusterID // those with an address, with the members that export them
	waiting map[types.NamespacedName][]names.ClusterID // those without, because these members have too many
	members map[names.ClusterID]int                    // addresses of each member's imports
}

// NewAddresses returns the count for a cluster with the given ranges of Service addresses. Families without a range have no limit.
func NewAddresses(cidrs []string) *Addresses {
	a := &Addresses{
		size: map[corev1.IPFamily]float64{}, used: map[corev1.IPFamily]int{}, imports: map[types.NamespacedName][]names.ClusterID{},
		waiting: map[types.NamespacedName][]names.ClusterID{}, members: map[names.ClusterID]int{},
	}
	for _, cidr := range cidrs {
		prefix, err := netip.ParsePrefix(cidr)
		if err != nil {
			continue // its reader has refused it
		}
		a.ranges = append(a.ranges, prefix.Masked())
		a.size[familyOf(prefix.Addr())] += addressesIn(prefix)
	}
	return a
}

func addressesIn(prefix netip.Prefix) float64 {
	size := 1.0
	for range prefix.Addr().BitLen() - prefix.Bits() {
		size *= 2
	}
	return size
}

func familyOf(ip netip.Addr) corev1.IPFamily {
	if ip.Is4() {
		return corev1.IPv4Protocol
	}
	return corev1.IPv6Protocol
}

// Service records that a Service has addresses instead of others; nil for one that is new or gone.
func (a *Addresses) Service(had, has []string) {
	if slices.Equal(had, has) {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count(had, -1)
	a.count(has, 1)
}

func (a *Addresses) count(ips []string, by int) {
	for _, text := range ips {
		ip, err := netip.ParseAddr(text) // not of "None"
		if err == nil && slices.ContainsFunc(a.ranges, func(r netip.Prefix) bool { return r.Contains(ip) }) {
			a.used[familyOf(ip)] += by
		}
	}
}

// Has records that an import has an address.
func (a *Addresses) Has(service types.NamespacedName, members []names.ClusterID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.has(service, members)
}

func (a *Addresses) has(service types.NamespacedName, members []names.ClusterID) {
	a.release(service)
	a.imports[service] = members
	for _, id := range members {
		a.members[id]++
	}
}

// Release records that an import is gone.
func (a *Addresses) Release(service types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.release(service)
}

func (a *Addresses) release(service types.NamespacedName) {
	for _, id := range a.imports[service] {
		if a.members[id]--; a.members[id] == 0 {
			delete(a.members, id)
		}
	}
	delete(a.imports, service)
	delete(a.waiting, service)
}

// NeedsNone records that an import needs no address, or none any more that it waits for. One that it has, it keeps.
func (a *Addresses) NeedsNone(service types.NamespacedName) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.waiting, service)
}

// Take records that an import is about to have an address, unless it returns why it cannot have one. members are those that
// export it; none if this cluster does.
func (a *Addresses) Take(service types.NamespacedName, families []corev1.IPFamily, members []names.ClusterID) (refusal string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if _, has := a.imports[service]; !has {
		if refusal = a.isFull(families); refusal != "" {
			delete(a.waiting, service)
			return refusal
		}
		if refusal = a.haveTooMany(families, members); refusal != "" {
			a.waiting[service] = members
			return refusal
		}
	}
	a.has(service, members)
	return ""
}

// isFull returns why no import gets an address, or "".
func (a *Addresses) isFull(families []corev1.IPFamily) string {
	for _, family := range families {
		if size, known := a.size[family]; known && float64(a.used[family]) >= size*addressesFull {
			return fmt.Sprintf("%.0f %% of the %.0f %s addresses for Services are in use. The remaining addresses are reserved for this cluster's own Services. Add a ServiceCIDR and restart the agent, or delete Services",
				100*float64(a.used[family])/size, size, family)
		}
	}
	return ""
}

// haveTooMany returns why the imports of members get no further address, or "".
func (a *Addresses) haveTooMany(families []corev1.IPFamily, members []names.ClusterID) string {
	for _, family := range families {
		size, known := a.size[family]
		limit := int(size * AddressesOfMember)
		if known && len(members) > 0 && !slices.ContainsFunc(members, func(id names.ClusterID) bool { return a.members[id] < limit }) {
			return fmt.Sprintf("Services of %s have %d of the %.0f %s addresses for Services, but Services of one cluster get at most a quarter. Export fewer Services in that cluster, or add a ServiceCIDR in this cluster and restart the agent",
				listOf(members), limit, size, family)
		}
	}
	return ""
}

func listOf(members []names.ClusterID) string {
	var texts []string
	for _, id := range members {
		texts = append(texts, id.String())
	}
	list := names.ListClusters(texts)
	if len(texts) == 1 {
		return "cluster " + list
	}
	return "clusters " + list + " each"
}

// Used returns which part of the known ranges is in use, from 0 to 1.
func (a *Addresses) Used() map[corev1.IPFamily]float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[corev1.IPFamily]float64{}
	for family, size := range a.size {
		all[family] = float64(a.used[family]) / size
	}
	return all
}

// Members returns how many addresses the imports from each member use, Waiting how many imports from each wait for one because the
// member has too many.
func (a *Addresses) Members() map[names.ClusterID]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.members)
}

// Waiting is described at Members.
func (a *Addresses) Waiting() map[names.ClusterID]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	all := map[names.ClusterID]int{}
	for _, members := range a.waiting {
		for _, id := range members {
			all[id]++
		}
	}
	return all
}
