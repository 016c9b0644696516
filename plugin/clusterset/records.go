package clusterset

import (
	"net"

	"github.com/miekg/dns"
)

// answer creates the records of one reply.
type answer struct {
	ttl uint32
	// room is the space for records, in bytes. One record beyond it is created if there are more: CoreDNS then
	// truncates the reply and sets the TC bit.
	room int
	// start rotates the records of each name. It is the message ID, which clients choose at random.
	start int
}

// addresses returns the A or AAAA records of n with the owner name.
func (a answer) addresses(qtype uint16, owner string, n *node) []dns.RR {
	size := recordA
	if qtype == dns.TypeAAAA {
		size = recordAAAA
	}
	count := min(n.count(qtype), max(a.room, 0)/size+1)
	records := make([]dns.RR, 0, count)
	if qtype == dns.TypeA {
		return a.a(records, make([]dns.A, count), owner, n)
	}
	return a.aaaa(records, make([]dns.AAAA, count), owner, n)
}

// a fills made with A records of n and appends them.
func (a answer) a(to []dns.RR, made []dns.A, owner string, n *node) []dns.RR {
	count := n.count(dns.TypeA)
	for i := range made {
		at := (a.start + i) % count * net.IPv4len
		made[i].Hdr = header(owner, dns.TypeA, a.ttl)
		made[i].A = n.v4[at : at+net.IPv4len : at+net.IPv4len]
		to = append(to, &made[i])
	}
	return to
}

// aaaa fills made with AAAA records of n and appends them.
func (a answer) aaaa(to []dns.RR, made []dns.AAAA, owner string, n *node) []dns.RR {
	count := n.count(dns.TypeAAAA)
	for i := range made {
		at := (a.start + i) % count * net.IPv6len
		made[i].Hdr = header(owner, dns.TypeAAAA, a.ttl)
		made[i].AAAA = n.v6[at : at+net.IPv6len : at+net.IPv6len]
		to = append(to, &made[i])
	}
	return to
}

// turn is a rotated list of targets.
type turn struct {
	targets []target
	first   int
}

func (t turn) at(i int) target { return t.targets[(t.first+i)%len(t.targets)] }

// newHost reports whether target i is the first of its host. Targets of one host are adjacent, except where the
// rotation splits them.
func (t turn) newHost(i int) bool {
	host := t.at(i).host
	return i == 0 || host != t.at(i-1).host && host != t.at(0).host
}

// srv returns the SRV records of n with the owner name, and each target's addresses once where all of them fit. A
// missing additional record does not truncate a reply (RFC 2181 section 9). All records have the same priority and
// weight.
func (a answer) srv(owner string, n *node) (records, extra []dns.RR) {
	t := turn{n.srv, a.start % len(n.srv)}
	count := 0
	for ; count < len(n.srv) && a.room >= 0; count++ {
		a.room -= recordSRV + len(t.at(count).host.name)
	}
	v4, v6, at := 0, 0, 0
	for i := 0; i < count && a.room >= 0; i++ {
		host := t.at(i).host
		at += recordSRV + len(host.name)
		if !t.newHost(i) {
			continue
		}
		name := 0 // in addition to the pointer counted in the record
		if at > farthest {
			name = len(host.name) + 1
		}
		n4, n6 := host.count(dns.TypeA), host.count(dns.TypeAAAA)
		v4, v6 = v4+n4, v6+n6
		a.room -= n4*(recordA+name) + n6*(recordAAAA+name)
	}
	if a.room < 0 {
		v4, v6 = 0, 0
	}
	made := make([]dns.SRV, count)
	all := make([]dns.RR, count, count+v4+v6+1) // plus one for an OPT record
	for i := range made {
		to := t.at(i)
		made[i] = dns.SRV{
			Hdr:    header(owner, dns.TypeSRV, a.ttl),
			Weight: uint16(max(1, 100/len(n.srv))),
			Port:   to.port,
			Target: to.host.name,
		}
		all[i] = &made[i]
	}
	extra, made4, made6 := all[count:], make([]dns.A, v4), make([]dns.AAAA, v6)
	for i := 0; len(made4)+len(made6) > 0; i++ {
		host := t.at(i).host
		if !t.newHost(i) {
			continue
		}
		n4, n6 := host.count(dns.TypeA), host.count(dns.TypeAAAA)
		extra = a.aaaa(a.a(extra, made4[:n4], host.name, host), made6[:n6], host.name, host)
		made4, made6 = made4[n4:], made6[n6:]
	}
	return all[:count:count], extra
}

// farthest is the last offset that a compression pointer can reach (RFC 1035 section 4.1.4), minus the longest header,
// question and name.
const farthest = 1<<14 - 1 - 12 - (maxName + 1 + 4) - (maxName + 1)
