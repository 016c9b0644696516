package conformance

import (
	"bufio"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// server is a backend that sends its name and then echoes lines. It answers a datagram with its name and the data.
type server struct {
	name     string
	backend  cloudprovider.Backend
	protocol corev1.Protocol
	close    func() // stops accepting; open connections stay
}

// tcp starts servers, alternately in clusters c1 and c2.
func (b *bench) tcp(names ...string) (list []*server) {
	b.Helper()
	for i, name := range names {
		listener, err := net.Listen("tcp", net.JoinHostPort(b.ServerAddress, "0"))
		if err != nil {
			b.Fatal(err)
		}
		go ServeTCP(listener, name)
		b.Cleanup(func() { _ = listener.Close() })
		list = append(list, &server{
			name: name, protocol: corev1.ProtocolTCP, close: func() { _ = listener.Close() },
			backend: cloudprovider.Backend{Address: listener.Addr().(*net.TCPAddr).AddrPort(), Cluster: fmt.Sprintf("c%d", i%2+1)},
		})
	}
	return list
}

// ServeTCP sends a name to each client and then echoes its lines, until the listener is closed.
func ServeTCP(listener net.Listener, name string) {
	for {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			fmt.Fprintln(conn, name)
			for lines := bufio.NewScanner(conn); lines.Scan(); {
				fmt.Fprintln(conn, lines.Text())
			}
		}()
	}
}

func (b *bench) udp(names ...string) (list []*server) {
	b.Helper()
	for i, name := range names {
		conn, err := net.ListenPacket("udp", net.JoinHostPort(b.ServerAddress, "0"))
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			buffer := make([]byte, 64<<10)
			for {
				n, from, err := conn.ReadFrom(buffer)
				if err != nil {
					return
				}
				_, _ = conn.WriteTo(append([]byte(name+":"), buffer[:n]...), from)
			}
		}()
		b.Cleanup(func() { _ = conn.Close() })
		list = append(list, &server{
			name: name, protocol: corev1.ProtocolUDP, close: func() { _ = conn.Close() },
			backend: cloudprovider.Backend{Address: conn.LocalAddr().(*net.UDPAddr).AddrPort(), Cluster: fmt.Sprintf("c%d", i%2+1)},
		})
	}
	return list
}

// service returns a Service of one port with these backends.
func service(port int32, servers ...*server) cloudprovider.Service {
	protocol := corev1.ProtocolTCP
	if len(servers) > 0 {
		protocol = servers[0].protocol
	}
	return cloudprovider.Service{Ports: []cloudprovider.Port{portOf(port, protocol, servers...)}, Families: []corev1.IPFamily{corev1.IPv4Protocol}}
}

func portOf(port int32, protocol corev1.Protocol, servers ...*server) cloudprovider.Port {
	p := cloudprovider.Port{Name: fmt.Sprintf("p%d", port), Protocol: protocol, Number: port}
	for _, s := range servers {
		p.Backends = append(p.Backends, s.backend)
	}
	slices.SortFunc(p.Backends, func(a, b cloudprovider.Backend) int { return a.Address.Compare(b.Address) })
	return p
}

// draining returns copies of the servers in the terminating state.
func draining(servers ...*server) (list []*server) {
	for _, s := range servers {
		terminating := *s
		terminating.backend.Draining = true
		list = append(list, &terminating)
	}
	return list
}

const patience = 5 * time.Second // timeout of one answer

type client struct {
	net.Conn
	lines  *bufio.Reader
	server string // the name of the server that answered
}

// dial connects to a load balancer and reads the server's name.
func dial(address string) (*client, error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return nil, err
	}
	c := &client{Conn: conn, lines: bufio.NewReader(conn)}
	if c.server, err = c.line(); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return c, nil
}

func (c *client) line() (string, error) {
	if err := c.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	line, err := c.lines.ReadString('\n')
	return strings.TrimSuffix(line, "\n"), err
}

func (c *client) echo(text string) error {
	if _, err := fmt.Fprintln(c, text); err != nil {
		return err
	}
	got, err := c.line()
	if err == nil && got != text {
		return fmt.Errorf("sent %q, got %q", text, got)
	}
	return err
}

// ask makes one connection and returns the server's name.
func ask(address string) (string, error) {
	c, err := dial(address)
	if err != nil {
		return "", err
	}
	defer c.Close()
	return c.server, c.echo("hello")
}

// askUDP sends one datagram from a new source port.
func askUDP(address string) (string, error) {
	conn, err := net.DialTimeout("udp", address, patience)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	return talkUDP(conn, "hello")
}

func talkUDP(conn net.Conn, text string) (string, error) {
	if _, err := conn.Write([]byte(text)); err != nil {
		return "", err
	}
	if err := conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	buffer := make([]byte, 64<<10)
	n, err := conn.Read(buffer)
	if err != nil {
		return "", err
	}
	name, answer, _ := strings.Cut(string(buffer[:n]), ":")
	if answer != text {
		return "", fmt.Errorf("sent %q, got %q", text, answer)
	}
	return name, nil
}

// count asks n times and counts the answers of each server.
func count(n int, ask func(string) (string, error), address string) (map[string]int, error) {
	got := map[string]int{}
	for range n {
		name, err := ask(address)
		if err != nil {
			return got, err
		}
		got[name]++
	}
	return got, nil
}

// traffic is a client that opens one connection after the other.
type traffic struct {
	mu       sync.Mutex
	answered int
	failed   []error
	done     chan struct{}
	ended    sync.WaitGroup
}

func startTraffic(ask func(string) (string, error), address string, clients int) *traffic {
	tr := &traffic{done: make(chan struct{})}
	for range clients {
		tr.ended.Go(func() {
			for {
				select {
				case <-tr.done:
					return
				default:
				}
				_, err := ask(address)
				tr.mu.Lock()
				if err != nil {
					tr.failed = append(tr.failed, err)
				} else {
					tr.answered++
				}
				tr.mu.Unlock()
			}
		})
	}
	return tr
}

func (tr *traffic) count() int {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return tr.answered
}

// stop returns the number of answers and the errors.
func (tr *traffic) stop() (int, []error) {
	close(tr.done)
	tr.ended.Wait()
	return tr.answered, tr.failed
}

func only(addresses []netip.AddrPort, want ...*server) bool {
	return len(addresses) == len(want) && !slices.ContainsFunc(want, func(s *server) bool { return !slices.Contains(addresses, s.backend.Address) })
}
