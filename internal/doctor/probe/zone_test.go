package probe

import (
	"net"
	"slices"
	"strings"
	"testing"

	"github.com/miekg/dns"
)

// dnsServer answers queries for the SOA record of a name.
func dnsServer(t *testing.T, answer func(*dns.Msg)) string {
	t.Helper()
	conn, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &dns.Server{PacketConn: conn, Handler: dns.HandlerFunc(func(w dns.ResponseWriter, q *dns.Msg) {
		m := new(dns.Msg).SetReply(q)
		answer(m)
		w.WriteMsg(m)
	})}
	go server.ActivateAndServe()
	t.Cleanup(func() { server.Shutdown() })
	return conn.LocalAddr().String()
}

// The zone of a name is in the authority section of a negative answer, and in the answer section at the zone's top.
func TestZones(t *testing.T) {
	soa := func(zone string) []dns.RR {
		return []dns.RR{&dns.SOA{Hdr: dns.RR_Header{Name: zone, Rrtype: dns.TypeSOA, Class: dns.ClassINET}, Ns: "ns.", Mbox: "m."}}
	}
	for name, tt := range map[string]struct {
		answer func(*dns.Msg)
		want   []string
		err    string
	}{
		"absent":         {func(m *dns.Msg) { m.Rcode, m.Ns = dns.RcodeNameError, soa("svc.clusterset.local.") }, []string{"svc.clusterset.local."}, ""},
		"no data":        {func(m *dns.Msg) { m.Ns = soa("a.") }, []string{"a."}, ""},
		"the zone's top": {func(m *dns.Msg) { m.Answer = soa("a.b.") }, []string{"a.b."}, ""},
		"nothing said":   {func(m *dns.Msg) { m.Rcode = dns.RcodeNameError }, nil, ""},
		"failure":        {func(m *dns.Msg) { m.Rcode = dns.RcodeServerFailure }, nil, "ServerFailure"},
		"refused":        {func(m *dns.Msg) { m.Rcode = dns.RcodeRefused }, nil, "Refused"},
		"another query":  {func(m *dns.Msg) { m.Id++ }, nil, "another query"},
	} {
		got, err := zones(t.Context(), dnsServer(t, tt.answer), "a.b.")
		if !slices.Equal(got, tt.want) || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if _, err := zones(t.Context(), "127.0.0.1:1", strings.Repeat("a", 300)); err == nil {
		t.Error("a name of 300 octets was asked for")
	}
}
