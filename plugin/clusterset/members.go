package clusterset

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
)

// address is an address of a ready endpoint.
type address struct {
	// of is the slice that the endpoint is in.
	of *endpointSlice
	// rank is where the host stands among those of its service.
	rank uint64
	// hostname is empty where the endpoint has none.
	hostname string
	ip       netip.Addr
}

func newAddress(of *endpointSlice, hostname string, ip netip.Addr) address {
	a := address{of: of, hostname: hostname, ip: ip}
	var label [maxLabel]byte
	a.rank = rank(a.appendLabel(label[:0]), of.cluster.String())
	return a
}

// appendLabel writes the first label of the host's name: the hostname, else the address
// as cluster DNS writes it for endpoints without a hostname.
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

// rank gives a host a place among those of its service that depends on its name
// alone. So the first hosts are a fair sample, the same for every server, and when a
// host comes or goes no other changes its place relative to the rest. It is FNV-1a,
// with MurmurHash3's last step so that names that differ in one letter at the end
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

// sameHost reports whether a and b belong to one name.
func sameHost(a, b *address) bool {
	return a.rank == b.rank && a.of.cluster == b.of.cluster && compareLabels(a, b) == 0
}

// compareLabels compares first labels without writing them out where they are the same.
func compareLabels(a, b *address) int {
	if a.hostname == b.hostname && (a.hostname != "" || a.ip == b.ip) {
		return 0
	}
	return bytes.Compare(a.appendLabel(nil), b.appendLabel(nil))
}

// inOrder compares addresses of one service by host, those of one host by themselves, and
// one that is in several slices by these.
func inOrder(a, b *address) int {
	if a.rank != b.rank {
		return cmp.Compare(a.rank, b.rank)
	}
	return cmp.Or(cmp.Compare(a.of.cluster, b.of.cluster), compareLabels(a, b), a.ip.Compare(b.ip),
		cmp.Compare(a.of.key.name, b.of.key.name))
}

// members are the addresses of all ready endpoints of a service, in order. An
// address that is in several slices is there several times. They never change: a
// change makes others.
type members []*address

// replace returns the members without those in gone, which are in m and no copies, and
// with those in come. Both are in order.
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

// place returns how many members stand before a.
func (m members) place(a *address) int {
	i, _ := slices.BinarySearchFunc(m, a, inOrder)
	return i
}

// appendAddresses appends what points at the addresses of a slice.
func appendAddresses(to []*address, of *endpointSlice) []*address {
	for i := range of.addresses {
		to = append(to, &of.addresses[i])
	}
	return to
}
