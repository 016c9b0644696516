package conformance

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

func missing(b *bench) {
	m := b.mcs("missing")
	if status, exist, err := b.provider.GetMCSLoadBalancer(context.Background(), m); exist || err != nil {
		b.Errorf("the load balancer must not exist before the first Ensure call: got status %v, exists %v, error %v", status, exist, err)
	}
	b.delete(m)
}

func lifecycle(b *bench) {
	m := b.mcs("web")
	servers := b.tcp("a")
	b.apply(m, service(8080, servers...))
	b.reaches(address(m, 8080), "a")
	first := m.Status.LoadBalancer
	status, exist, err := b.provider.GetMCSLoadBalancer(context.Background(), m)
	if err != nil || !exist || len(status.Ingress) == 0 || status.Ingress[0].IP != first.Ingress[0].IP || status.Ingress[0].Hostname != first.Ingress[0].Hostname {
		b.Errorf("GetMCSLoadBalancer returned status %v, exists %v, error %v; want status %v", status, exist, err, first)
	}
	m.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	b.apply(m, service(8080, servers...))
	if got, want := address(m, 8080), net.JoinHostPort(first.Ingress[0].IP, "8080"); first.Ingress[0].IP != "" && got != want {
		b.Errorf("the load balancer is at %s after another Ensure call, but was at %s before", got, want)
	}
	b.reaches(address(m, 8080), "a")
	for range 2 {
		b.delete(m)
	}
	b.unreached(address(m, 8080))
	if _, exist, err := b.provider.GetMCSLoadBalancer(context.Background(), m); exist || err != nil {
		b.Errorf("after the deletion, GetMCSLoadBalancer returned exists %v, error %v", exist, err)
	}
}

// reaches waits until exactly these servers answer in turn.
func (b *bench) reaches(address string, names ...string) {
	b.Helper()
	b.reachesBy(ask, address, names...)
}

func (b *bench) reachesBy(ask func(string) (string, error), address string, names ...string) {
	b.Helper()
	b.eventually(fmt.Sprintf("waiting for answers from servers %v at %s", names, address), func() error {
		got, err := count(6*len(names), ask, address)
		if err != nil {
			return err
		}
		for _, name := range names {
			if got[name] == 0 {
				return fmt.Errorf("answers by server: %v", got)
			}
		}
		if len(got) != len(names) {
			return fmt.Errorf("answers by server: %v", got)
		}
		return nil
	})
}

func (b *bench) unreached(address string) {
	b.Helper()
	b.eventually("waiting until no server answers at "+address, func() error {
		if name, err := ask(address); err == nil {
			return fmt.Errorf("server %s still answers", name)
		}
		return nil
	})
}

// even has three backends in one cluster and one in another: each gets a quarter, whatever its cluster. A random
// choice passes, too, except in one of some thousand runs.
func even(b *bench) {
	for _, tt := range b.transports() {
		m := b.mcs("even-" + string(tt.protocol[0]+'a'-'A'))
		names := []string{"a", "b", "c", "d"}
		servers := tt.start(names...)
		for i, s := range servers {
			s.backend.Cluster = "c1"
			if i == len(servers)-1 {
				s.backend.Cluster = "c2"
			}
		}
		b.apply(m, service(8080, servers...))
		b.reachesBy(tt.ask, address(m, 8080), names...)
		const each, least, most = 100, 65, 135
		got, err := count(each*len(names), tt.ask, address(m, 8080))
		if err != nil {
			b.Fatal(err)
		}
		b.Logf("%s, %d connections; answers by server: %v", tt.protocol, each*len(names), got)
		for _, name := range names {
			if got[name] < least || got[name] > most {
				b.Errorf("%s: the servers must answer equally often, but answers by server are %v", tt.protocol, got)
				break
			}
		}
	}
}

// transport is a protocol that the provider supports.
type transport struct {
	protocol corev1.Protocol
	start    func(...string) []*server
	ask      func(string) (string, error)
}

func (b *bench) transports() []transport {
	return slices.DeleteFunc([]transport{{corev1.ProtocolTCP, b.tcp, ask}, {corev1.ProtocolUDP, b.udp, askUDP}}, func(t transport) bool {
		return !b.carries(t.protocol)
	})
}

// dial connects to port 8080 until the end of the test.
func (b *bench) dial(m *networkingv1alpha1.MultiClusterService) *client {
	b.Helper()
	c, err := dial(address(m, 8080))
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	return c
}

// stays checks that a connection still works.
func (b *bench) stays(c *client, when string) {
	b.Helper()
	if err := c.echo("still there"); err != nil {
		b.Errorf("the connection to server %s failed %s: %v", c.server, when, err)
	}
}

func changing(b *bench) {
	m := b.mcs("changing")
	servers := b.tcp("a", "b", "c")
	b.apply(m, service(8080, servers[0]))
	b.reaches(address(m, 8080), "a")
	c := b.dial(m)
	for _, step := range []struct {
		backends []*server
		want     []string
	}{
		{servers[:2], []string{"a", "b"}},
		{append(draining(servers[0]), servers[1:]...), []string{"b", "c"}},
		{draining(servers[:2]...), []string{"a", "b"}}, // no other backend is left
		{servers[1:], []string{"b", "c"}},
		{servers[2:], []string{"c"}},
		{servers[:1], []string{"a"}},
		{servers[1:2], []string{"b"}},
	} {
		b.apply(m, service(8080, step.backends...))
		b.reaches(address(m, 8080), step.want...)
		b.stays(c, fmt.Sprintf("after the backends changed to %v", step.want))
	}
}

func rolling(b *bench) {
	for _, tt := range b.transports() {
		m := b.mcs("rolling-" + string(tt.protocol[0]+'a'-'A'))
		now := tt.start("a0", "b0", "c0")
		b.apply(m, service(8080, now...))
		b.reachesBy(tt.ask, address(m, 8080), "a0", "b0", "c0")
		clients := startTraffic(tt.ask, address(m, 8080), 2)
		for round := 1; round <= 2; round++ {
			for i := range now {
				old := now[i]
				fresh := tt.start(fmt.Sprintf("%c%d", 'a'+i, round))[0]
				// Like a Deployment: the new pod becomes ready, then the old one terminates and stops.
				now[i] = fresh
				b.apply(m, service(8080, append(draining(old), now...)...))
				b.more(clients, 20)
				b.apply(m, service(8080, now...))
				b.more(clients, 20)
				old.close()
				b.more(clients, 20)
			}
		}
		b.noneLost(clients, fmt.Sprintf("over %s, while 6 backends were replaced", tt.protocol))
	}
}

func (b *bench) more(tr *traffic, n int) {
	b.Helper()
	until := tr.count() + n
	b.eventually("waiting for answers", func() error {
		if tr.count() < until {
			return fmt.Errorf("only %d answers", tr.count())
		}
		return nil
	})
}

// newcomer adds a backend to others with open connections. It must get its share of new connections and not all of
// them: a cold backend would be overloaded.
func newcomer(b *bench) {
	m := b.mcs("newcomer")
	servers := b.tcp("a", "b", "c")
	b.apply(m, service(8080, servers[:2]...))
	b.reaches(address(m, 8080), "a", "b")
	var open []*client
	for range 20 {
		open = append(open, b.dial(m))
	}
	clients := startTraffic(ask, address(m, 8080), 2)
	b.more(clients, 20)
	b.apply(m, service(8080, servers...))
	b.reaches(address(m, 8080), "a", "b", "c")
	b.more(clients, 20)
	b.noneLost(clients, "while a backend was added")
	const each = 20
	got, err := count(each*len(servers), ask, address(m, 8080))
	if err != nil {
		b.Fatal(err)
	}
	b.Logf("%d new connections besides %d open connections; answers by server: %v", each*len(servers), len(open), got)
	if got["c"] < each/2 || got["c"] > 2*each {
		b.Errorf("the new backend c must get its share of connections, but answers by server are %v", got)
	}
	for _, c := range open {
		b.stays(c, "after a backend was added")
	}
	if b.carries(corev1.ProtocolUDP) {
		newcomerUDP(b)
	}
}

// newcomerUDP checks that UDP clients keep their backend, too.
func newcomerUDP(b *bench) {
	m := b.mcs("newcomer-u")
	servers := b.udp("a", "b")
	b.apply(m, service(8080, servers[0]))
	b.reachesBy(askUDP, address(m, 8080), "a")
	conn, err := net.DialTimeout("udp", address(m, 8080), patience)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	stays := func(when string) {
		if name, err := talkUDP(conn, "hello"); err != nil || name != "a" {
			b.Errorf("%s, the client of backend a got an answer from %q: %v", when, name, err)
		}
	}
	stays("before a backend was added")
	b.apply(m, service(8080, servers...))
	b.reachesBy(askUDP, address(m, 8080), "a", "b")
	stays("after a backend was added")
}

func unreachable(b *bench) {
	m := b.mcs("unreachable")
	servers := b.tcp("a", "b", "c")
	servers[1].close()
	b.apply(m, service(8080, servers...))
	b.reaches(address(m, 8080), "a", "c")
	if got, err := count(20, ask, address(m, 8080)); err != nil {
		b.Errorf("connections fail although two of three backends answer; answers by server: %v, error: %v", got, err)
	}
	reporter, ok := b.provider.(cloudprovider.Reporter)
	if !ok {
		return
	}
	b.eventually("waiting for the report that backend b does not answer", func() error {
		if got := reporter.Unreachable(cloudprovider.KeyOf(m)); !only(got, servers[1]) {
			return fmt.Errorf("the provider reports unreachable backends %v, want %v", got, servers[1].backend.Address)
		}
		return nil
	})
	name := cloudprovider.KeyOf(m)
	b.about.Store(&name)
	// The server returns at the same address.
	listener, err := net.Listen("tcp", servers[1].backend.Address.String())
	if err != nil {
		b.Skipf("another program took the port of the closed server: %v", err)
	}
	go ServeTCP(listener, "b")
	defer listener.Close()
	select {
	case <-b.notified:
	case <-time.After(b.Timeout):
		b.Error("the provider does not report that backend b answers again")
	}
	b.reaches(address(m, 8080), "a", "b", "c")
	b.eventually("waiting for the report that all backends answer", func() error {
		if got := reporter.Unreachable(cloudprovider.KeyOf(m)); len(got) > 0 {
			return fmt.Errorf("the provider reports unreachable backends %v, want none", got)
		}
		return nil
	})
}

func empty(b *bench) {
	m := b.mcs("empty")
	b.apply(m, service(8080))
	b.unreached(address(m, 8080))
	b.apply(m, service(8080, b.tcp("a")...))
	b.reaches(address(m, 8080), "a")
	b.apply(m, service(8080))
	b.unreached(address(m, 8080))
}

func affinity(b *bench) {
	m := b.mcs("affinity")
	servers := b.tcp("a", "b", "c", "d")
	s := service(8080, servers...)
	s.Affinity = time.Hour
	b.apply(m, s)
	var first string
	b.eventually("waiting for an answer", func() (err error) { first, err = ask(address(m, 8080)); return err })
	if got, err := count(12, ask, address(m, 8080)); err != nil || got[first] != 12 {
		b.Errorf("with session affinity, only server %s must answer; answers by server: %v, error: %v", first, got, err)
	}
	var others []*server
	for _, each := range servers {
		if each.name != first {
			others = append(others, each)
		}
	}
	s.Ports = service(8080, others...).Ports
	b.apply(m, s)
	var second string
	b.eventually("waiting for an answer from another server", func() (err error) {
		if second, err = ask(address(m, 8080)); second == first {
			return fmt.Errorf("server %s still answers", first)
		}
		return err
	})
	if got, err := count(12, ask, address(m, 8080)); err != nil || got[second] != 12 {
		b.Errorf("after the first server was removed, only server %s must answer; answers by server: %v, error: %v", second, got, err)
	}
	s.Affinity = 0
	b.apply(m, s)
	b.reaches(address(m, 8080), others[0].name, others[1].name, others[2].name)
}

func ports(b *bench) {
	m := b.mcs("ports")
	servers := b.tcp("a", "b")
	b.apply(m, service(8080, servers[0]))
	b.reaches(address(m, 8080), "a")
	c := b.dial(m)
	both := service(8080, servers[0])
	both.Ports = append(both.Ports, portOf(8081, corev1.ProtocolTCP, servers[1]))
	before := address(m, 8080)
	clients := startTraffic(ask, before, 2)
	b.apply(m, both)
	if address(m, 8080) != before {
		b.Errorf("the load balancer moved from %s to %s when a port was added", before, address(m, 8080))
	}
	b.reaches(address(m, 8081), "b")
	b.more(clients, 20)
	b.apply(m, service(8080, servers[0]))
	b.unreached(address(m, 8081))
	b.more(clients, 20)
	b.noneLost(clients, "to one port, while another port was added and removed")
	b.stays(c, "while another port was added and removed")
}

func unsupported(b *bench) {
	m := b.mcs("unsupported")
	s := service(8080, b.tcp("a")...)
	s.Ports = append(s.Ports, portOf(9000, corev1.ProtocolSCTP))
	wrong := map[string]bool{"9000/SCTP": true}
	if !b.carries(corev1.ProtocolUDP) {
		s.Ports = append(s.Ports, portOf(8080, corev1.ProtocolUDP, b.udp("u")...))
		wrong["8080/UDP"] = true
	}
	b.apply(m, s)
	b.reaches(address(m, 8080), "a")
	for _, p := range m.Status.LoadBalancer.Ingress[0].Ports {
		port := fmt.Sprintf("%d/%s", p.Port, p.Protocol)
		if wrong[port] != (p.Error != nil) {
			b.Errorf("the status of port %s has the unexpected error value %v", port, p.Error)
		}
		delete(wrong, port)
	}
	if len(wrong) > 0 {
		b.Errorf("the status does not report unsupported ports: %v", wrong)
	}
}

func others(b *bench) {
	one, two := b.mcs("one"), b.mcs("two")
	servers := b.tcp("a", "b")
	b.apply(one, service(8080, servers[0]))
	b.reaches(address(one, 8080), "a")
	c := b.dial(one)
	clients := startTraffic(ask, address(one, 8080), 2)
	for range 2 {
		two.Status.LoadBalancer = corev1.LoadBalancerStatus{}
		b.apply(two, service(8080, servers[1]))
		if address(one, 8080) == address(two, 8080) {
			b.Fatalf("two load balancers have the same address and port %s", address(one, 8080))
		}
		b.reaches(address(two, 8080), "b")
		b.more(clients, 20)
		b.delete(two)
		b.unreached(address(two, 8080))
		b.more(clients, 20)
	}
	b.noneLost(clients, "while another load balancer was created and deleted")
	b.stays(c, "while another load balancer was created and deleted")
}

func many(b *bench) {
	servers := b.tcp("a")
	var list []*networkingv1alpha1.MultiClusterService
	for i := range 8 {
		list = append(list, b.mcs(fmt.Sprintf("many-%d", i)))
	}
	var all sync.WaitGroup
	for i, m := range list {
		b.lister.set(cloudprovider.KeyOf(m), service(int32(8100+i), servers...))
		all.Go(func() {
			ctx, cancel := context.WithTimeout(context.Background(), b.Timeout)
			defer cancel()
			for range 3 {
				status, err := b.provider.EnsureMCSLoadBalancer(ctx, m)
				if err != nil {
					b.Errorf("%s: %v", m.Name, err)
					return
				}
				m.Status.LoadBalancer = *status
			}
		})
	}
	all.Wait()
	if b.Failed() {
		return
	}
	for i, m := range list {
		b.reaches(address(m, int32(8100+i)), "a")
	}
}

// noneLost stops the clients and reports lost requests.
func (b *bench) noneLost(clients *traffic, when string) {
	b.Helper()
	answered, failed := clients.stop()
	b.Logf("%d requests %s: %d lost", answered+len(failed), when, len(failed))
	if len(failed) > 0 {
		b.Errorf("%d of %d requests %s were lost; first error: %v", len(failed), answered+len(failed), when, failed[0])
	}
}
