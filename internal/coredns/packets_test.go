package coredns

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// testLarge asks for a service of 2000 endpoints, over UDP with the sizes that clients
// have, and over TCP as they do when a reply is marked as truncated.
func (c *cluster) testLarge() {
	const name = "large.shop.svc.clusterset.local."
	c.createForNow(&mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "large"},
		Spec:       mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.Headless, Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}}},
	})
	for s := range 2 {
		port, protocol, number := "http", corev1.ProtocolTCP, int32(8080)
		slice := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "shop", Name: fmt.Sprint("large-", s),
				Labels: map[string]string{mcsv1beta1.LabelServiceName: "large", mcsv1beta1.LabelSourceCluster: fmt.Sprint("c", s)},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: &port, Protocol: &protocol, Port: &number}},
		}
		for i := range 1000 {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 100+s, i/250, i%250)}})
		}
		c.createForNow(slice)
	}
	overTCP := func(qtype uint16) *dns.Msg { return c.query("tcp", name, qtype) }
	c.retry("asking for a large service until it is whole", func() error {
		m := overTCP(dns.TypeA)
		of := map[byte]bool{} // which slices
		for _, rr := range m.Answer {
			of[rr.(*dns.A).A.To4()[1]] = true
		}
		if len(m.Answer) < 900 || len(of) != 2 || len(m.Answer) != len(overTCP(dns.TypeSRV).Answer) {
			return fmt.Errorf("got %d addresses, of slices %v", len(m.Answer), of)
		}
		return nil
	})
	for _, size := range []uint16{512, 1232, 4096} {
		m := new(dns.Msg)
		m.SetQuestion(name, dns.TypeA)
		if size > 512 {
			m.SetEdns0(size, false)
		}
		reply, err := exchange(dns.Client{UDPSize: 65535}, m, c.server.Servers()[0].LocalAddr().String())
		c.must(err)
		reply.Compress = true // as it came
		if length := reply.Len(); !reply.Truncated || length > int(size) || len(reply.Answer) < int(size)/32 {
			c.Errorf("size %d: %d bytes with %d records, truncated=%v", size, length, len(reply.Answer), reply.Truncated)
		}
	}
	addresses, targets := map[string]bool{}, map[string]bool{}
	a, srv := overTCP(dns.TypeA), overTCP(dns.TypeSRV)
	for _, rr := range a.Answer {
		addresses[rr.(*dns.A).A.String()] = true
	}
	for _, rr := range srv.Answer {
		label, _, _ := strings.Cut(rr.(*dns.SRV).Target, ".")
		targets[strings.ReplaceAll(label, "-", ".")] = true
	}
	if a.Truncated || srv.Truncated || !maps.Equal(addresses, targets) {
		c.Errorf("over TCP %d addresses, truncated=%v, and %d targets, truncated=%v", len(addresses), a.Truncated, len(targets), srv.Truncated)
	}
	c.deleteForNow()
	c.eventually(name, dns.TypeA, dns.RcodeNameError)
}

// testPackets sends what is no proper query. The server lives on, and answers others.
func (c *cluster) testPackets() {
	query := new(dns.Msg)
	query.SetQuestion("db.shop.svc.clusterset.local.", dns.TypeSRV)
	query.SetEdns0(1232, true)
	good, err := query.Pack()
	c.must(err)
	random := rand.New(rand.NewPCG(1, 2))
	packets := [][]byte{
		{}, {0}, make([]byte, 11), make([]byte, 12), make([]byte, 65000),
		slices.Concat(good[:12], []byte{0xc0, 12, 0, 1, 0, 1}),                                                                     // a name that points to itself
		slices.Concat(good[:4], []byte{0xff, 0xff, 0, 0, 0, 0, 0, 0}, good[12:]),                                                   // 65535 questions
		slices.Concat(good[:4], []byte{0, 0, 0, 0, 0, 0, 0, 0}),                                                                    // none
		slices.Concat(good[:12], []byte(strings.Repeat("\x3fxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 5))), // a name of 320 bytes
	}
	for i := range good {
		packets = append(packets, good[:i])
		for range 20 {
			mutant := slices.Clone(good)
			for range 1 + random.IntN(4) {
				mutant[random.IntN(len(mutant))] = byte(random.Uint32())
			}
			packets = append(packets, mutant)
		}
	}
	before := panics(c)
	server := c.server.Servers()[0]
	udp, err := net.Dial("udp", server.LocalAddr().String())
	c.must(err)
	defer udp.Close()
	for i, packet := range packets {
		_, err := udp.Write(packet)
		c.must(err)
		if i%40 == 0 { // each of these a connection that says something else than it announces
			tcp, err := net.DialTimeout("tcp", server.Addr().String(), 10*time.Second)
			c.must(err)
			_, err = tcp.Write(append([]byte{byte(random.Uint32()), byte(len(packet))}, packet...))
			tcp.Close()
			c.must(err)
		}
	}
	c.want("db-0.c1.eu.db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, "10.1.0.1")
	if n := panics(c) - before; n != 0 {
		c.Errorf("%v panics", n)
	}
}

// panics returns how many CoreDNS has survived.
func panics(c *cluster) float64 {
	families, err := prometheus.DefaultGatherer.Gather()
	c.must(err)
	for _, family := range families {
		if family.GetName() == "coredns_panics_total" {
			return family.GetMetric()[0].GetCounter().GetValue()
		}
	}
	c.Fatal("CoreDNS does not count panics")
	return 0
}
