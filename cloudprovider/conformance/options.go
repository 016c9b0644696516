package conformance

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	"github.com/pires/go-proxyproto"
	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

func proxyProtocol(b *bench) {
	listener, err := net.Listen("tcp", net.JoinHostPort(b.ServerAddress, "0"))
	if err != nil {
		b.Fatal(err)
	}
	defer listener.Close()
	headers := make(chan string, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go readHeader(conn, headers)
		}
	}()
	backend := cloudprovider.Backend{Address: listener.Addr().(*net.TCPAddr).AddrPort(), Cluster: "c1"}
	for _, version := range []string{"v1", "v2"} {
		m := b.mcs("proxy-" + version)
		m.Annotations[cloudprovider.AnnotationProxyProtocol] = version
		s := service(8080)
		s.Ports[0].Backends = []cloudprovider.Backend{backend}
		b.apply(m, s)
		b.eventually("waiting for a PROXY protocol header of version "+version, func() error {
			conn, err := net.DialTimeout("tcp", address(m, 8080), patience)
			if err != nil {
				return err
			}
			defer conn.Close()
			fmt.Fprintln(conn, "hello")
			want := fmt.Sprintf("%s %s %s hello", version, conn.LocalAddr(), conn.RemoteAddr())
			for {
				select {
				case got := <-headers: // health checks send other addresses
					if got == want {
						return nil
					}
				case <-time.After(time.Second):
					return fmt.Errorf("the backend did not receive the header %q", want)
				}
			}
		})
	}
}

// readHeader reads a header of either version and the line after it.
func readHeader(conn net.Conn, headers chan<- string) {
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	in := bufio.NewReader(conn)
	header, err := proxyproto.Read(in)
	if err != nil {
		return
	}
	line, _ := in.ReadString('\n')
	headers <- fmt.Sprintf("v%d %s %s %s", header.Version, header.SourceAddr, header.DestinationAddr, strings.TrimSpace(line))
}

func sourceRanges(b *bench) {
	m := b.mcs("ranges")
	s := service(8080, b.tcp("a")...)
	b.apply(m, s)
	b.reaches(address(m, 8080), "a")
	s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("2001:db8::/64")}
	b.apply(m, s)
	b.unreached(address(m, 8080))
	s.SourceRanges = append(s.SourceRanges, netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0"))
	b.apply(m, s)
	b.reaches(address(m, 8080), "a")
}

func maxConnections(b *bench) {
	m := b.mcs("max")
	m.Annotations[cloudprovider.AnnotationMaxConnections] = "2"
	b.apply(m, service(8080, b.tcp("a")...))
	b.reaches(address(m, 8080), "a")
	var open []*client
	for range 2 {
		b.eventually("waiting for a connection within the limit", func() error {
			c, err := dial(address(m, 8080))
			if err == nil {
				open = append(open, c)
			}
			return err
		})
	}
	// The third connection waits until another one ends.
	answered := make(chan error, 1)
	go func() {
		_, err := ask(address(m, 8080))
		answered <- err
	}()
	select {
	case err := <-answered:
		b.Errorf("a third connection must wait, but was answered or refused: %v", err)
	case <-time.After(500 * time.Millisecond):
		open[0].Close()
		if err := <-answered; err != nil {
			b.Errorf("the waiting connection failed: %v", err)
		}
	}
	open[1].Close()
	delete(m.Annotations, cloudprovider.AnnotationMaxConnections)
	b.apply(m, service(8080, b.tcp("z")...))
	b.reaches(address(m, 8080), "z")
}

func connectionRate(b *bench) {
	m := b.mcs("rate")
	const rate = 20
	m.Annotations[cloudprovider.AnnotationConnectionRate] = fmt.Sprint(rate)
	b.apply(m, service(8080, b.tcp("a")...))
	b.reaches(address(m, 8080), "a")
	began := time.Now()
	if _, err := count(3*rate, ask, address(m, 8080)); err != nil {
		b.Fatal(err)
	}
	// The connections of one second may start at once.
	if took := time.Since(began); took < 1500*time.Millisecond {
		b.Errorf("%d connections took only %v, although the limit is %d connections per second", 3*rate, took, rate)
	}
}

func askedAddress(b *bench) {
	one, two := b.mcs("one"), b.mcs("two")
	servers := b.tcp("a", "b")
	b.apply(one, service(8080, servers[0]))
	// The address of the other load balancer, on another port.
	two.Annotations[cloudprovider.AnnotationAddress] = one.Status.LoadBalancer.Ingress[0].IP
	b.apply(two, service(8081, servers[1]))
	if one.Status.LoadBalancer.Ingress[0].IP != two.Status.LoadBalancer.Ingress[0].IP {
		b.Errorf("requested address %v, got %v", one.Status.LoadBalancer.Ingress, two.Status.LoadBalancer.Ingress)
	}
	b.reaches(address(one, 8080), "a")
	b.reaches(address(two, 8081), "b")
	// A taken port is refused, and only the backends change.
	both := service(8080, servers[0])
	both.Ports = append(both.Ports, portOf(8081, corev1.ProtocolTCP, servers[0]))
	b.refuses(two, both, cloudprovider.ReasonPortConflict)
	b.reaches(address(one, 8080), "a")
	b.reaches(address(two, 8081), "a")
	three := b.mcs("three")
	three.Annotations[cloudprovider.AnnotationAddress] = "203.0.113.1"
	b.refuses(three, service(8082, servers[0]), cloudprovider.ReasonAddressRefused)
}

func wrongOptions(b *bench) {
	m := b.mcs("wrong")
	m.Annotations[cloudprovider.AnnotationPrefix+"colour"] = "blue"
	b.refuses(m, service(8080, b.tcp("a")...), cloudprovider.ReasonInvalid)
	delete(m.Annotations, cloudprovider.AnnotationPrefix+"colour")
	servers := b.tcp("b", "c")
	both := service(8080, servers[0])
	both.Ports = append(both.Ports, portOf(8081, corev1.ProtocolTCP, servers[0]))
	b.apply(m, both)
	b.reaches(address(m, 8080), "b")
	b.reaches(address(m, 8081), "b")
	// An invalid annotation must not keep removed ports open or block backend updates.
	m.Annotations[cloudprovider.AnnotationPrefix+"colour"] = "blue"
	b.refuses(m, service(8080, servers[1]), cloudprovider.ReasonInvalid)
	b.reaches(address(m, 8080), "c")
	b.unreached(address(m, 8081))
	s := service(8080, servers[1])
	s.SourceRanges = []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}
	b.refuses(m, s, cloudprovider.ReasonInvalid)
	b.unreached(address(m, 8080))
}
