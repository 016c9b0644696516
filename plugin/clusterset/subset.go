package clusterset

import (
	"bytes"
	"cmp"
	"net"
	"slices"

	"github.com/miekg/dns"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// What a record takes in a reply, in bytes: a pointer to the name that was asked for,
// type, class, TTL and length of the data make 12 (RFC 1035 sections 4.1.3 and 4.1.4).
const (
	recordHead = 12
	recordA    = recordHead + net.IPv4len
	recordAAAA = recordHead + net.IPv6len
	// recordSRV is without the target: priority, weight, port, and the octet by which a
	// name on the wire is longer than the text. A target is never compressed, RFC 2782.
	recordSRV = recordHead + 6 + 1

	// replyRoom is what a reply over TCP has for the records of one name: all but its
	// head, the question and an OPT record of a kilobyte, many times the usual.
	replyRoom = dns.MaxMsgSize - 12 - (maxName + 1 + 4) - 1024
)

// subset drafts the answers of a headless service: its ready endpoints' addresses, a
// name for each host, and SRV records with the ports that the slices give, which are the
// ones that the pods listen on.
//
// It takes members one after the other until one does not fit: the A, the AAAA, or one
// port's SRV records would be more than a reply has room for. What it took is the same
// in all of them, and in the hosts' names. Because members are in an order that depends
// on their names alone, a change of one endpoint changes at most one other's place in
// the subset or out of it, give or take the length of their names.
type subset struct {
	*draft
	// of are the ports of each slice that are the import's.
	of map[*endpointSlice][]portNumber
	// all4 and all6 are the addresses of the hosts so far.
	all4, all6 []byte
	clusters   map[names.ClusterID]struct{}
	// numbers are the ports of the host at hand.
	numbers []portNumber
	// srv are the targets of the service's own name, one for each host and number, as
	// many hosts as there is room for.
	srv     []target
	sizeSRV int
	srvFull bool
}

// portNumber is a number of one of the draft's ports.
type portNumber struct {
	*portDraft
	number uint16
}

// headless drafts the answers of a service without virtual IP.
func (d *draft) headless(from *serviceImport, all members) {
	s := subset{draft: d, of: map[*endpointSlice][]portNumber{}, clusters: map[names.ClusterID]struct{}{}}
	for _, p := range from.ports {
		d.port(p.portName)
	}
	for more := true; more && len(all) > 0; {
		n := 1
		for n < len(all) && sameHost(all[0], all[n]) {
			n++
		}
		more = s.takeHost(all[:n])
		all = all[n:]
	}
	if len(s.all4)+len(s.all6) == 0 {
		return
	}
	d.made.name(node{
		name: d.suffix,
		v4:   bytes.Clone(distinct(s.all4, net.IPv4len)),
		v6:   bytes.Clone(distinct(s.all6, net.IPv6len)),
		srv:  slices.Clone(s.srv),
	})
	for cluster := range s.clusters {
		for name, ok := cluster.String(), true; ok; name, ok = parent(name) {
			d.exists(name)
		}
	}
}

// takeHost adds the addresses of one host to the draft, and reports whether all of them
// fit.
func (s *subset) takeHost(group []*address) bool {
	s.name = appendName(s.name[:0], group[0], s.suffix)
	s.v4, s.v6, s.numbers = s.v4[:0], s.v6[:0], s.numbers[:0]
	taken := 0
	for taken < len(group) && s.takeAddress(group[taken]) {
		taken++
	}
	if taken == 0 {
		return false
	}
	s.all4, s.all6 = append(s.all4, s.v4...), append(s.all6, s.v6...)
	if len(s.name) <= maxName {
		s.clusters[group[0].of.cluster] = struct{}{}
		s.addTargets(s.host(group[0].rank))
	}
	return taken == len(group)
}

// takeAddress adds an address to the host at hand, with the ports that its slice gives it,
// and reports whether it did, because there was room.
func (s *subset) takeAddress(a *address) bool {
	before := len(s.numbers)
	if len(s.name) <= maxName { // otherwise nobody can ask for it
		for _, p := range s.portsOf(a.of) {
			if !slices.Contains(s.numbers, p) {
				s.numbers = append(s.numbers, p)
			}
		}
	}
	v4, v6 := appendPacked(s.v4, s.v6, a.ip)
	// In several slices, an address stands behind itself.
	if repeats(s.v4, v4, net.IPv4len) || repeats(s.v6, v6, net.IPv6len) {
		v4, v6 = s.v4, s.v6
	}
	sizeA := (len(s.all4) + len(v4)) / net.IPv4len * recordA
	sizeAAAA := (len(s.all6) + len(v6)) / net.IPv6len * recordAAAA
	fits := sizeA <= s.room && sizeAAAA <= s.room
	for _, p := range s.numbers[before:] {
		p.size += recordSRV + len(s.name)
		fits = fits && p.size <= s.room
	}
	if !fits {
		s.numbers = s.numbers[:before]
		return false
	}
	s.v4, s.v6 = v4, v6
	return true
}

// repeats reports whether what was added to a list of addresses is what was last in it.
func repeats(old, added []byte, size int) bool {
	n := len(old)
	return len(added) > n && n > 0 && string(added[n:]) == string(old[n-size:])
}

// addTargets makes SRV records of the host at hand.
func (s *subset) addTargets(h *node) {
	slices.SortFunc(s.numbers, func(a, b portNumber) int { return cmp.Compare(a.number, b.number) })
	distinct := 0
	for i, p := range s.numbers {
		p.targets = append(p.targets, target{h, p.number})
		if i == 0 || p.number != s.numbers[i-1].number {
			distinct++
		}
	}
	s.sizeSRV += distinct * (recordSRV + len(s.name))
	if s.srvFull = s.srvFull || s.sizeSRV > s.room; s.srvFull {
		return
	}
	for i, p := range s.numbers {
		if i == 0 || p.number != s.numbers[i-1].number {
			s.srv = append(s.srv, target{h, p.number})
		}
	}
}

// portsOf returns the slice's ports that the import names. Others are not the service's:
// names that were made up to tell unnamed ports apart, or the ports of a cluster whose
// definition lost.
func (s *subset) portsOf(of *endpointSlice) []portNumber {
	found, ok := s.of[of]
	if !ok {
		for _, p := range of.ports {
			for _, d := range s.ports {
				if d.portName == p.portName {
					found = append(found, portNumber{d, p.number})
				}
			}
		}
		s.of[of] = found
	}
	return found
}

// distinct returns the addresses, of that many bytes each, without what is there twice,
// in the same order.
func distinct(packed []byte, size int) []byte {
	// Two hosts rarely have one address, and most services few hosts.
	if count := len(packed) / size; count <= 32 {
		for i := size; i < len(packed); i += size {
			for j := 0; j < i; j += size {
				if string(packed[i:i+size]) == string(packed[j:j+size]) {
					return without(packed, size)
				}
			}
		}
		return packed
	}
	return without(packed, size)
}

func without(packed []byte, size int) []byte {
	seen := make(map[[net.IPv6len]byte]struct{}, len(packed)/size)
	kept := packed[:0]
	for ; len(packed) > 0; packed = packed[size:] {
		var key [net.IPv6len]byte
		copy(key[:], packed[:size])
		if _, ok := seen[key]; !ok {
			seen[key] = struct{}{}
			kept = append(kept, packed[:size]...)
		}
	}
	return kept
}
