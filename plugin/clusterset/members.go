package clusterset

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
)

// address is an address of a ready endpoint.
type address struct {
	// of is the endpoint's slice.
	of *endpointSlice
	// rank orders hosts within a service.
	rank uint64
	// hostname may be empty.
	hostname string
	ip       netip.Addr
	// standby means that the address answers to its host's name, and to the service's while no other is ready.
	standby bool
}

func newAddress(of *endpointSlice, hostname string, ip netip.Addr) address {
	a := address{of: of, hostname: hostname, ip: ip}
	var label [maxLabel]byte
	a.rank = rank(a.appendLabel(label[:0]), of.cluster.String())
	return a
}

// appendLabel writes the first label of the host's name: the hostname, or else the address in the form of cluster DNS.
func (a *address) appendLabel(to []byte) []byte {
	if a.hostname != "" {
		return append(to, a.hostname...)
	}
	start := len(to)
	to = a.ip.AppendTo(to)
	for i, c := range to[start:] {
		if c == '.' || c == ':' {
			to[start+i] = '-'
		}
	}
	if to[len(to)-1] == '-' {
		to = append(to, '0')
	}
	return to
}

// rank orders hosts by their name alone. The first hosts are then a fair sample that all servers agree on, and a host
// that comes or goes does not reorder the rest. It is FNV-1a with the finalizer of MurmurHash3, so that similar names
// are not neighbours.
func rank(label []byte, cluster string) uint64 {
	const offset, prime = 0xcbf29ce484222325, 0x100000001b3
	h := uint64(offset)
	for _, c := range label {
		h = (h ^ uint64(c)) * prime
	}
	h = (h ^ '.') * prime
	for i := range len(cluster) {
		h = (h ^ uint64(cluster[i])) * prime
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}

// sameHost reports whether a and b share one DNS name.
func sameHost(a, b *address) bool {
	return a.rank == b.rank && a.of.cluster == b.of.cluster && compareLabels(a, b) == 0
}

// compareLabels compares first labels. Equal ones, the common case, need no allocation.
func compareLabels(a, b *address) int {
	if a.hostname == b.hostname && (a.hostname != "" || a.ip == b.ip) {
		return 0
	}
	return bytes.Compare(a.appendLabel(nil), b.appendLabel(nil))
}

// inOrder compares addresses of one service by host, then by address, then by slice.
func inOrder(a, b *address) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	return cmp.Or(cmp.Compare(a.of.cluster, b.of.cluster), compareLabels(a, b), a.ip.Compare(b.ip),
		cmp.Compare(a.of.key.name, b.of.key.name))
}

// members are the sorted addresses of a service's ready endpoints, repeated for each slice that has them. They are
// immutable.
type members []*address

// replace returns the members without gone and with come, both sorted. gone must hold pointers from m.
func (m members) replace(gone, come []*address) members {
	made := make(members, 0, len(m)-len(gone)+len(come))
	for len(gone) > 0 || len(come) > 0 {
		if len(gone) == 0 || len(come) > 0 && inOrder(come[0], gone[0]) <= 0 {
			i := m.place(come[0])
			made = append(append(made, m[:i]...), come[0])
			m, come = m[i:], come[1:]
			continue
		}
		i := m.place(gone[0])
		made = append(made, m[:i]...)
		m, gone = m[i+1:], gone[1:]
	}
	return append(made, m...)
}

func (m members) place(a *address) int {
	i, _ := slices.BinarySearchFunc(m, a, inOrder)
	return i
}

// appendAddresses appends pointers to the addresses of a slice.
func appendAddresses(to []*address, of *endpointSlice) []*address {
	for i := range of.addresses {
		to = append(to, &of.addresses[i])
	}
	return to
}
