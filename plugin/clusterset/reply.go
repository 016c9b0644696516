package clusterset

import (
	"net"

	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

const (
	// schemaVersion is the version of the specification, section 1, and
	// schemaTTL what its section 2.2 gives the record.
	schemaVersion = "1.0.0"
	schemaTTL     = 28800

	// minRecord is the least that an address record takes in a message: a
	// pointer to the name, type, class, TTL, length and an IPv4 address.
	minRecord = 16
)

// reply makes the answer to state's question, which asks for the name of n in z.
// It has records of its own: plugins in front of this one may change them.
func (c *Clusterset) reply(state *request.Request, z *zone, k kind, n *node) *dns.Msg {
	m := new(dns.Msg)
	m.SetReply(state.Req)
	m.Authoritative = true
	a := c.newAnswer(state)
	switch state.QType() {
	case dns.TypeA:
		if n != nil {
			m.Answer = a.a(nil, state.Req.Question[0].Name, n)
		}
	case dns.TypeAAAA:
		if n != nil {
			m.Answer = a.aaaa(nil, state.Req.Question[0].Name, n)
		}
	case dns.TypeSRV:
		if n != nil {
			m.Answer, m.Extra = a.srv(state.Req.Question[0].Name, n)
		}
	case dns.TypeTXT:
		if k == version {
			m.Answer = []dns.RR{&dns.TXT{
				Hdr: header(state.Req.Question[0].Name, dns.TypeTXT, schemaTTL),
				Txt: []string{schemaVersion},
			}}
		}
	case dns.TypeSOA:
		if k == apex {
			m.Answer = []dns.RR{c.soa(state, z)}
		}
	case dns.TypeNS:
		if k == apex {
			m.Answer = []dns.RR{&dns.NS{
				Hdr: header(state.Req.Question[0].Name, dns.TypeNS, c.ttl),
				Ns:  z.ns.name,
			}}
			m.Extra = a.addresses(nil, z.ns)
		}
	}
	return m
}

// soa returns the zone's SOA record, with the zone's name as the client wrote it.
func (c *Clusterset) soa(state *request.Request, z *zone) *dns.SOA {
	qname := state.Req.Question[0].Name
	return &dns.SOA{
		Hdr:     header(qname[len(qname)-len(z.name):], dns.TypeSOA, c.ttl),
		Ns:      z.ns.name,
		Mbox:    z.hostmaster,
		Serial:  c.serial.Load(),
		Refresh: 7200,
		Retry:   1800,
		Expire:  86400,
		Minttl:  c.ttl,
	}
}

// answer makes records for one reply.
type answer struct {
	ttl uint32
	// limit is how many records of a name are made, more than fit in the reply:
	// CoreDNS then truncates it, but is not handed thousands of records to do so.
	limit int
	// start turns the records of each name, so that every one is first at times.
	// It is the message id, which clients choose at random.
	start int
}

func (c *Clusterset) newAnswer(state *request.Request) answer {
	return answer{
		ttl:   c.ttl,
		limit: state.Size()/minRecord + 1,
		start: int(state.Req.Id),
	}
}

// a appends the A records of n under the name owner.
func (a answer) a(to []dns.RR, owner string, n *node) []dns.RR {
	count := len(n.v4) / net.IPv4len
	if count == 0 {
		return to
	}
	records := make([]dns.A, min(count, a.limit))
	to = grow(to, len(records))
	for i := range records {
		at := (a.start + i) % count * net.IPv4len
		records[i].Hdr = header(owner, dns.TypeA, a.ttl)
		records[i].A = net.IP(n.v4[at : at+net.IPv4len : at+net.IPv4len])
		to = append(to, &records[i])
	}
	return to
}

// aaaa appends the AAAA records of n under the name owner.
func (a answer) aaaa(to []dns.RR, owner string, n *node) []dns.RR {
	count := len(n.v6) / net.IPv6len
	if count == 0 {
		return to
	}
	records := make([]dns.AAAA, min(count, a.limit))
	to = grow(to, len(records))
	for i := range records {
		at := (a.start + i) % count * net.IPv6len
		records[i].Hdr = header(owner, dns.TypeAAAA, a.ttl)
		records[i].AAAA = net.IP(n.v6[at : at+net.IPv6len : at+net.IPv6len])
		to = append(to, &records[i])
	}
	return to
}

// addresses appends the A and AAAA records of n under its own name.
func (a answer) addresses(to []dns.RR, n *node) []dns.RR {
	return a.aaaa(a.a(to, n.name, n), n.name, n)
}

// srv returns the SRV records of n under the name owner, and the addresses of
// their targets, each target's once. All have one priority and equal weights.
func (a answer) srv(owner string, n *node) (records, extra []dns.RR) {
	count := len(n.srv)
	if count == 0 {
		return nil, nil
	}
	weight := uint16(max(1, 100/count))
	made := make([]dns.SRV, min(count, a.limit))
	records = make([]dns.RR, 0, len(made))
	first := a.start % count
	for i := range made {
		t := n.srv[(first+i)%count]
		made[i] = dns.SRV{
			Hdr:    header(owner, dns.TypeSRV, a.ttl),
			Weight: weight,
			Port:   t.port,
			Target: t.host.name,
		}
		records = append(records, &made[i])
		// The targets of one host stand together, but for the place where the
		// list is turned.
		if i > 0 && (t.host == n.srv[(first+i-1)%count].host || t.host == n.srv[first].host) {
			continue
		}
		if len(extra) < a.limit {
			extra = a.addresses(extra, t.host)
		}
	}
	return records, extra
}

// header returns the header of a record in class IN; ttl in seconds.
func header(name string, rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}

// grow returns records with room for n more, exactly that if it was empty.
func grow(records []dns.RR, n int) []dns.RR {
	if records == nil {
		return make([]dns.RR, 0, n)
	}
	return records
}
