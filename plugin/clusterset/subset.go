package clusterset

import (
	"bytes"
	"cmp"
	"net"
	"slices"

	"github.com/miekg/dns"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Bytes of a record in a reply: name pointer, type, class, TTL and data length take 12 (RFC 1035 sections 4.1.3 and
// 4.1.4).
const (
	recordHead = 12
	recordA    = recordHead + net.IPv4len
	recordAAAA = recordHead + net.IPv6len
	// recordSRV excludes the target: priority, weight, port, and the octet that a name on the wire has beyond its
	// text. SRV targets are never compressed (RFC 2782).
	recordSRV = recordHead + 6 + 1

	// replyRoom is the space for one name's records in a reply over TCP: all but header, question and a generous 1 KiB
	// OPT record.
	replyRoom = dns.MaxMsgSize - 12 - (maxName + 1 + 4) - 1024
)

// subset drafts the answers of a headless service: the addresses of ready endpoints, a name per host, and SRV records
// with the slices' ports, which are the pods' ports.
//
// It adds members in order until one does not fit, because the A, AAAA or one port's SRV records would overflow a
// reply. The same members are used for all record types and host names. The order depends only on the members' names,
// so a changed endpoint moves at most about one other into or out of the subset.
type subset struct {
	*draft
	// of maps each slice to those of its ports that the import has.
	of map[*endpointSlice][]portNumber
	// all4 and all6 are the addresses of all hosts so far.
	all4, all6 []byte
	clusters   map[names.ClusterID]struct{}
	// hasReady means that endpoints on standby are not needed.
	hasReady bool
	// numbers are the ports of the current host.
	numbers []portNumber
	// srv are the targets of the service's own name, one for each host and port number, for as many hosts as fit.
	srv     []target
	sizeSRV int
	srvFull bool
}

// portNumber is a number of a port in the draft.
type portNumber struct {
	*portDraft
	number uint16
}

// headless drafts the answers of a service without a virtual IP.
func (d *draft) headless(from *serviceImport, all members) {
	s := subset{draft: d, of: map[*endpointSlice][]portNumber{}, clusters: map[names.ClusterID]struct{}{}}
	for _, p := range from.ports {
		d.port(p.portName)
	}
	s.hasReady = slices.ContainsFunc(all, func(a *address) bool { return !a.standby })
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

// takeHost adds the addresses of one host and reports whether all fit.
func (s *subset) takeHost(group []*address) bool {
	s.name = appendName(s.name[:0], group[0], s.suffix)
	s.v4, s.v6, s.numbers = s.v4[:0], s.v6[:0], s.numbers[:0]
	taken := 0
	for taken < len(group) && (s.isSpare(group[taken]) || s.takeAddress(group[taken])) {
		taken++
	}
	switch {
	case len(s.v4)+len(s.v6) > 0:
	case taken < len(group):
		return false
	default:
		s.takeSpares(group)
		return true
	}
	s.all4, s.all6 = append(s.all4, s.v4...), append(s.all6, s.v6...)
	if len(s.name) <= maxName {
		s.clusters[group[0].of.cluster] = struct{}{}
		s.addTargets(s.host(group[0].rank))
	}
	return taken == len(group)
}

// isSpare reports whether an address answers only to its host's name.
func (s *subset) isSpare(a *address) bool { return s.hasReady && a.standby }

// takeSpares adds a host whose every address is on standby: to the answers of its own name only.
func (s *subset) takeSpares(group []*address) {
	if len(s.name) > maxName {
		return
	}
	for _, a := range group {
		v4, v6 := appendPacked(s.v4, s.v6, a.ip)
		if repeats(s.v4, v4, net.IPv4len) || repeats(s.v6, v6, net.IPv6len) {
			continue
		}
		if len(v4)/net.IPv4len*recordA > s.room || len(v6)/net.IPv6len*recordAAAA > s.room {
			break
		}
		s.v4, s.v6 = v4, v6
	}
	s.clusters[group[0].of.cluster] = struct{}{}
	s.host(group[0].rank)
}

// takeAddress adds an address with its slice's ports to the current host. It returns false when there is no room.
func (s *subset) takeAddress(a *address) bool {
	before := len(s.numbers)
	if len(s.name) <= maxName { // longer names cannot be queried
		for _, p := range s.portsOf(a.of) {
			if !slices.Contains(s.numbers, p) {
				s.numbers = append(s.numbers, p)
			}
		}
	}
	v4, v6 := appendPacked(s.v4, s.v6, a.ip)
	// An address in several slices follows itself in the order.
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

// repeats reports whether the added address equals the one before it.
func repeats(old, added []byte, size int) bool {
	n := len(old)
	return len(added) > n && n > 0 && string(added[n:]) == string(old[n-size:])
}

// addTargets adds the SRV targets of the current host.
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

// portsOf returns the slice's ports that the import has. Others are generated names of unnamed ports, or belong to a
// cluster that lost a conflict.
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

// distinct removes duplicates and keeps the order. Addresses have size bytes each.
func distinct(packed []byte, size int) []byte {
	// Most services have few hosts and no duplicates, so avoid a map.
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
