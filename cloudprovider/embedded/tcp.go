package embedded

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/pires/go-proxyproto"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

const (
	// dialTimeout applies to one backend, attemptsTimeout to all attempts for one connection.
	dialTimeout     = 3 * time.Second
	attemptsTimeout = 10 * time.Second
	// acceptPause follows an accept error, for example when the process has no file descriptors left.
	acceptPause = 100 * time.Millisecond
)

// keepAlive detects a dead peer of an idle connection within about a minute.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 15 * time.Second, Interval: 15 * time.Second, Count: 3}

// settings apply to new connections.
type settings struct {
	cloudprovider.Options
	sources []netip.Prefix // none admits all clients
}

func (s *settings) admits(client netip.Addr) bool {
	return len(s.sources) == 0 || slices.ContainsFunc(s.sources, func(p netip.Prefix) bool { return p.Contains(client) })
}

// tcpListener forwards the connections to one address and port.
type tcpListener struct {
	listener *net.TCPListener
	group    *group
	dialer   dialer
	settings atomic.Pointer[settings]
	limits   limits
	running  *sync.WaitGroup
	counts   *counts
	open     sync.WaitGroup // open connections

	// closing is done when the listener stops accepting, killing when open connections must end.
	closing, killing context.Context
	accepted         chan struct{} // closed when accept returns
	stop, kill       context.CancelFunc
}

func listenTCP(ctx context.Context, address netip.AddrPort, g *group, p *Provider) (*tcpListener, error) {
	config := net.ListenConfig{KeepAliveConfig: keepAlive}
	listener, err := config.Listen(ctx, "tcp", address.String())
	if err != nil {
		return nil, err
	}
	l := &tcpListener{
		listener: listener.(*net.TCPListener), group: g, dialer: p.dialer, running: &p.running, counts: &p.tcp, accepted: make(chan struct{}),
	}
	l.settings.Store(&settings{})
	l.killing, l.kill = context.WithCancel(context.Background())
	l.closing, l.stop = context.WithCancel(l.killing)
	l.running.Go(l.accept)
	return l, nil
}

func (l *tcpListener) configure(s settings) {
	l.settings.Store(&s)
	l.limits.set(s.MaxConnections, s.ConnectionRate)
}

// close stops accepting. Open connections may continue for the drain time.
func (l *tcpListener) close(drain time.Duration) {
	l.stop()
	_ = l.listener.Close()
	timer := time.AfterFunc(drain, l.kill)
	l.running.Go(func() {
		<-l.accepted
		l.open.Wait()
		timer.Stop()
		l.kill()
	})
}

func (l *tcpListener) accept() {
	defer close(l.accepted)
	for l.limits.await(l.closing) == nil {
		conn, err := l.listener.AcceptTCP()
		if err != nil {
			l.limits.done()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			select {
			case <-time.After(acceptPause):
			case <-l.closing.Done():
			}
			continue
		}
		s, from := l.settings.Load(), conn.RemoteAddr().(*net.TCPAddr).AddrPort().Addr().Unmap()
		if !s.admits(from) { // rejected clients do not use up the limits
			l.limits.refund()
			_ = conn.SetLinger(0)
			_ = conn.Close()
			continue
		}
		l.open.Go(func() {
			defer l.limits.done()
			l.serve(conn, from, s)
		})
	}
}

// serve forwards one connection until both sides close it or one side resets it.
func (l *tcpListener) serve(client *net.TCPConn, from netip.Addr, s *settings) {
	defer client.Close()
	defer l.counts.begin()()
	upstream, err := l.connect(from)
	if err != nil {
		l.counts.failed.Add(1)
		_ = client.SetLinger(0) // a reset tells clients that the connection failed; a plain close looks like an empty answer
		return
	}
	defer upstream.Close()
	if s.ProxyProtocol != 0 {
		header := proxyproto.HeaderProxyFromAddrs(byte(s.ProxyProtocol), client.RemoteAddr(), client.LocalAddr())
		if _, err := header.WriteTo(upstream); err != nil {
			_ = client.SetLinger(0)
			return
		}
	}
	abort := func() {
		for _, c := range []*net.TCPConn{client, upstream} {
			_ = c.SetLinger(0)
			_ = c.Close()
		}
	}
	stop := context.AfterFunc(l.killing, abort)
	defer stop()
	var other sync.WaitGroup
	other.Go(func() { forward(upstream, client, abort) })
	forward(client, upstream, abort)
	other.Wait()
}

// forward copies one direction inside the kernel and passes on the end of the stream. An error aborts both directions.
func forward(to, from *net.TCPConn, abort func()) {
	if _, err := io.Copy(to, from); err != nil {
		abort()
		return
	}
	if to.CloseWrite() != nil {
		abort()
	}
}

var errNoBackend = errors.New("no backend accepted a connection")

// connect dials a backend, and tries the others when that fails.
func (l *tcpListener) connect(client netip.Addr) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(l.killing, attemptsTimeout)
	defer cancel()
	var failed []*backend
	for ctx.Err() == nil {
		b := l.group.pick(client, failed)
		if b == nil {
			break
		}
		conn, err := l.dial(ctx, b)
		if err == nil {
			return conn, nil
		}
		failed = append(failed, b)
		if l.killing.Err() == nil && !errors.Is(err, os.ErrPermission) && !local(err) {
			l.group.failed(b)
		}
	}
	return nil, errNoBackend
}

func (l *tcpListener) dial(ctx context.Context, b *backend) (*net.TCPConn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := l.dialer.DialContext(ctx, "tcp", b.address.String())
	if err != nil {
		return nil, err
	}
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		_ = conn.Close()
		return nil, fmt.Errorf("connecting to %s: unexpected connection type %T", b.address, conn)
	}
	return tcp, nil
}
