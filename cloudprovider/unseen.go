package cloudprovider

import (
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Unseen is a Lister's error where the Service has gone, and the hub has not seen it since it began. What there is to forward is
// not known then, but what there surely is not. A provider that takes it for any other error, and changes nothing, does nothing
// wrong; one whose load balancers outlive the hub has them keep nothing else than Keeps and Backends tell, and go on in all other
// respects as they are. None is made.
type Unseen struct {
	// Numbers are those of the ports that may be exposed. None means any.
	Numbers []int32
	// Ports are those that the provider clusters export and that may be exposed, as their own Services have them.
	Ports []Port
}

// Error says that the Service is not known.
func (*Unseen) Error() string {
	return "the Service has gone, and this hub has not seen it since it began"
}

// Keeps tells whether a port that is open stays so.
func (u *Unseen) Keeps(number int32) bool {
	return len(u.Numbers) == 0 || slices.Contains(u.Numbers, number)
}

// Backends are those of an open port that had these: what clusters export by its number, and what it had and some cluster
// publishes still, for a cluster's own Service may have another number for it. They are sorted, and none is invalid (Usable).
func (u *Unseen) Backends(protocol corev1.Protocol, number int32, had []netip.AddrPort) (backends []Backend) {
	for _, port := range u.Ports {
		if port.Protocol != protocol {
			continue
		}
		for _, b := range port.Backends {
			if port.Number == number || slices.Contains(had, b.Address) {
				backends = append(backends, b)
			}
		}
	}
	slices.SortFunc(backends, func(a, b Backend) int { return a.Address.Compare(b.Address) })
	backends, _ = usable(slices.CompactFunc(backends, func(a, b Backend) bool { return a.Address == b.Address }))
	return backends
}
