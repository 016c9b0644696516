package clusterset

import (
	"slices"

	"github.com/coredns/coredns/plugin/pkg/edns"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

const (
	// schemaVersion is the version of the DNS specification (section 1), schemaTTL the TTL of its record (section
	// 2.2).
	schemaVersion = "1.0.0"
	schemaTTL     = 28800
)

// message is a reply that allocates the usual case, one record, in one piece. Messages are not reused, because plugins
// before this one may change and keep record headers and names. The bytes of addresses belong to the index.
type message struct {
	dns.Msg
	question [1]dns.Question
	records  [1]dns.RR
}

type messageWithA struct {
	message
	a dns.A
}

type messageWithSOA struct {
	message
	soa dns.SOA
}

// begin makes m an empty reply, as dns.Msg's SetReply does.
func (m *message) begin(r *dns.Msg) {
	m.Id = r.Id
	m.Response = true
	m.Authoritative = true
	m.Opcode = r.Opcode
	if m.Opcode == dns.OpcodeQuery {
		m.RecursionDesired = r.RecursionDesired
		m.CheckingDisabled = r.CheckingDisabled
	}
	m.question[0] = r.Question[0]
	m.Question = m.question[:]
}

// reply builds the answer for node n in z.
func (c *Clusterset) reply(state *request.Request, z *zone, k kind, n *node) *dns.Msg {
	qname, qtype := state.Req.Question[0].Name, state.QType()
	if z.reverse != nil {
		if qtype == dns.TypePTR && n != nil {
			return one(state, &dns.PTR{Hdr: header(qname, dns.TypePTR, c.ttl), Ptr: n.name})
		}
		n = nil // its other records belong to the name, not to the address
	}
	switch {
	case n.count(qtype) == 1 && qtype == dns.TypeA:
		m := &messageWithA{a: dns.A{Hdr: header(qname, dns.TypeA, c.ttl), A: n.v4}}
		m.begin(state.Req)
		m.records[0] = &m.a
		m.Answer = m.records[:]
		return &m.Msg
	case n.count(qtype) > 0:
		m := &message{}
		m.begin(state.Req)
		a := answer{ttl: c.ttl, start: int(state.Req.Id), room: room(state)}
		if qtype == dns.TypeSRV {
			m.Answer, m.Extra = a.srv(qname, n)
		} else {
			m.Answer = a.addresses(qtype, qname, n)
		}
		return &m.Msg
	case k == version && qtype == dns.TypeTXT:
		return one(state, &dns.TXT{Hdr: header(qname, dns.TypeTXT, schemaTTL), Txt: []string{schemaVersion}})
	case k == apex && qtype == dns.TypeSOA:
		soa := c.soa(qname, z)
		return one(state, &soa)
	case k == apex && qtype == dns.TypeNS:
		m := one(state, &dns.NS{Hdr: header(qname, dns.TypeNS, c.ttl), Ns: z.ns.name})
		m.Extra = answer{ttl: c.ttl}.a(nil, make([]dns.A, z.ns.count(dns.TypeA)), z.ns.name, z.ns)
		m.Extra = answer{ttl: c.ttl}.aaaa(m.Extra, make([]dns.AAAA, z.ns.count(dns.TypeAAAA)), z.ns.name, z.ns)
		return m
	}
	m := &messageWithSOA{soa: c.soa(qname, z)}
	m.begin(state.Req)
	m.records[0] = &m.soa
	m.Ns = m.records[:]
	return &m.Msg
}

// one returns a reply with one record.
func one(state *request.Request, record dns.RR) *dns.Msg {
	m := &message{}
	m.begin(state.Req)
	m.records[0] = record
	m.Answer = m.records[:]
	return &m.Msg
}

// soa returns the zone's SOA record. Its owner name keeps the case of qname.
func (c *Clusterset) soa(qname string, z *zone) dns.SOA {
	return dns.SOA{
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

// room returns the bytes that a reply has for records.
func room(state *request.Request) int {
	size := state.Size() - 12 - (len(state.Req.Question[0].Name) + 1 + 4)
	if opt := state.Req.IsEdns0(); opt != nil {
		if len(opt.Option) > 0 {
			kept := *opt
			kept.Option = slices.DeleteFunc(slices.Clone(opt.Option), func(o dns.EDNS0) bool { return !edns.SupportedOption(o.Option()) })
			opt = &kept
		}
		size -= dns.Len(opt) // CoreDNS copies it into the reply, without the options that no plugin supports
	}
	return size
}

// header returns a record header of class IN; ttl is in seconds.
func header(name string, rrtype uint16, ttl uint32) dns.RR_Header {
	return dns.RR_Header{Name: name, Rrtype: rrtype, Class: dns.ClassINET, Ttl: ttl}
}
