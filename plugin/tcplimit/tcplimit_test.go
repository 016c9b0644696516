package tcplimit

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/whoami"
	"github.com/miekg/dns"
)

// Real connections to a CoreDNS: every query is answered, also one that the server refuses, and only so many of a client's
// connections stay open.
func TestConnections(t *testing.T) {
	caddy.Quiet, dnsserver.Quiet = true, true
	dnsserver.Directives = []string{name, "whoami"}
	server, err := caddy.Start(caddy.CaddyfileInput{
		Filepath: "Corefile", Contents: []byte("example.org:0 {\n tcplimit\n whoami\n}\n.:0 {\n tcplimit\n}\n"), ServerTypeName: "dns",
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Stop() })
	_, port, err := net.SplitHostPort(server.Servers()[0].Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ask := func(c *dns.Conn, of string) error {
		_ = c.SetDeadline(time.Now().Add(20 * time.Second))
		if err := c.WriteMsg(new(dns.Msg).SetQuestion(of, dns.TypeA)); err != nil {
			return err
		}
		_, err := c.ReadMsg()
		return err
	}
	var kept []*dns.Conn
	for i := range perClient + 2 {
		c, err := dns.Dial("tcp", net.JoinHostPort("127.0.0.1", port))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		of := "example.org."
		if i == perClient {
			of = "refused.example.net."
		}
		if err := ask(c, of); err != nil {
			t.Fatalf("query of connection %d: %v", i, err)
		}
		if i < perClient {
			kept = append(kept, c)
			continue
		}
		if _, err := c.ReadMsg(); !errors.Is(err, io.EOF) {
			t.Errorf("connection %d is open after its answer: %v", i, err)
		}
	}
	for i, c := range kept {
		if err := ask(c, "example.org."); err != nil {
			t.Errorf("second query of connection %d: %v", i, err)
		}
	}
}

// Closed connections do not count, and many clients cannot exceed the total.
func TestTotal(t *testing.T) {
	l := newConnections()
	now := time.Now()
	from := func(client, port int) netip.AddrPort {
		return netip.MustParseAddrPort(fmt.Sprintf("10.0.%d.%d:%d", client/256, client%256, port+1))
	}
	for i := range inTotal {
		if !l.keeps(from(i, 1), now) {
			t.Fatalf("connection %d is not kept", i)
		}
	}
	if l.keeps(from(inTotal, 1), now) || !l.keeps(from(0, 1), now) {
		t.Error("one more connection is kept, or a known one is not")
	}
	if now = now.Add(idle + time.Second); !l.keeps(from(inTotal, 1), now) || l.total != 1 || len(l.clients) != 1 {
		t.Errorf("%d connections of %d clients count after all were closed", l.total, len(l.clients))
	}
	for i := range 2 * perClient {
		if kept := l.keeps(from(inTotal, i), now); kept != (i < perClient) {
			t.Fatalf("connection %d of one client is kept: %v", i, kept)
		}
	}
}
