package embedded

import (
	"cmp"
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

const (
	// udpIdle is how long an idle client keeps its backend. Linux's connection tracking also forgets two-way streams
	// after two minutes.
	udpIdle = 2 * time.Minute
	// udpLinger is how long a removed backend may still answer. DNS resolvers wait about as long for an answer.
	udpLinger = 5 * time.Second
	// maxLingering limits the sockets of flows that wait for last answers; they do not count towards maxFlows.
	maxLingering = 1000
	// maxDatagram is the largest possible UDP datagram.
	maxDatagram = 64 << 10
	// maxFlows is the default maximum of clients per port. Each client costs a socket, so forged source addresses
	// could otherwise exhaust them.
	maxFlows = 10_000
)

// udpListener forwards the datagrams of one address and port. Each client address and port sticks to one backend.
type udpListener struct {
	conn     *net.UDPConn
	group    *group
	dialer   dialer
	linger   time.Duration
	settings atomic.Pointer[settings]
	limits   limits
	running  *sync.WaitGroup
	counts   *counts
	ctx      context.Context // ends all flows
	end      context.CancelFunc

	lingering atomic.Int64 // flows that are no longer in flows and still expect answers

	mu    sync.Mutex
	flows map[netip.AddrPort]*flow
}

// A flow is the traffic of one client.
type flow struct {
	client  netip.AddrPort
	backend *backend
	conn    *net.UDPConn
	used    atomic.Int64 // last use, in Unix nanoseconds
	// unanswered counts the datagrams that the backend has not answered yet, at one answer each.
	unanswered atomic.Int64
	// release frees the client's place in the limits, once.
	release func()
}

func listenUDP(ctx context.Context, address netip.AddrPort, g *group, p *Provider) (*udpListener, error) {
	conn, err := (&net.ListenConfig{}).ListenPacket(ctx, "udp", address.String())
	if err != nil {
		return nil, err
	}
	l := &udpListener{
		conn: conn.(*net.UDPConn), group: g, dialer: p.dialer, linger: p.linger, running: &p.running, counts: &p.udp, flows: map[netip.AddrPort]*flow{},
	}
	_ = l.conn.SetReadBuffer(4 << 20) // the kernel may grant less
	l.settings.Store(&settings{})
	l.ctx, l.end = context.WithCancel(context.Background())
	l.running.Go(l.receive)
	return l, nil
}

// configure ends the flows of clients that are no longer admitted; UDP flows have no end of their own.
func (l *udpListener) configure(s settings) {
	l.settings.Store(&s)
	l.limits.set(cmp.Or(s.MaxConnections, maxFlows), s.ConnectionRate)
	l.mu.Lock()
	defer l.mu.Unlock()
	for client, f := range l.flows {
		if !s.admits(client.Addr()) {
			_ = f.conn.Close() // ends the flow
		}
	}
}

func (l *udpListener) close(time.Duration) {
	l.end()
	_ = l.conn.Close()
}

func (l *udpListener) receive() {
	buffer := make([]byte, maxDatagram)
	for {
		n, client, err := l.conn.ReadFromUDPAddrPort(buffer)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil {
			continue // error of an answer that did not reach its client
		}
		l.send(netip.AddrPortFrom(client.Addr().Unmap(), client.Port()), buffer[:n])
	}
}

// send forwards a datagram. If a backend refuses it, send tries another backend.
func (l *udpListener) send(client netip.AddrPort, data []byte) {
	var failed []*backend
	for {
		f := l.flow(client, failed)
		if f == nil {
			return
		}
		f.used.Store(time.Now().UnixNano())
		f.unanswered.Add(1)
		_, err := f.conn.Write(data)
		if err == nil {
			return
		}
		l.finish(f)
		switch {
		case refused(err): // the refusal belongs to an earlier datagram; this one was not sent
			l.group.failed(f.backend)
			failed = append(failed, f.backend)
		case !errors.Is(err, net.ErrClosed): // on ErrClosed the backend was removed meanwhile, and the loop tries the next one
			return
		}
	}
}

// flow returns the client's flow or starts one. It returns nil when no flow can start.
func (l *udpListener) flow(client netip.AddrPort, failed []*backend) *flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.flows[client]; f != nil {
		if f.backend.ctx.Err() == nil {
			return f
		}
		f.release() // its place goes to the flow that starts here, even when the port is full
	}
	if !l.settings.Load().admits(client.Addr()) || l.ctx.Err() != nil {
		return nil
	}
	now := time.Now()
	b := l.group.pick(client.Addr(), failed)
	if b == nil {
		l.counts.failed.Add(1)
		return nil
	}
	if ok, _ := l.limits.take(now); !ok {
		return nil
	}
	conn, err := l.dialer.DialContext(l.ctx, "udp", b.address.String())
	if err != nil {
		l.limits.done()
		return nil
	}
	f := &flow{client: client, backend: b, conn: conn.(*net.UDPConn), release: sync.OnceFunc(l.limits.done)}
	f.used.Store(now.UnixNano())
	l.flows[client] = f
	end := l.counts.begin()
	l.running.Go(func() {
		defer end()
		l.answers(f)
	})
	return f
}

// answers forwards the backend's datagrams until the flow is idle, the backend refuses, or the backend was removed and
// owes no answer.
func (l *udpListener) answers(f *flow) {
	defer f.release()
	defer l.finish(f)
	defer context.AfterFunc(l.ctx, func() { _ = f.conn.Close() })()
	defer context.AfterFunc(f.backend.ctx, func() { _ = f.conn.SetReadDeadline(time.Now()) })()
	raw, err := f.conn.SyscallConn()
	if err != nil {
		return
	}
	for {
		if !f.readsUntil(f.lastUse().Add(udpIdle)) {
			return
		}
		if f.backend.ctx.Err() != nil {
			break // must come after the deadline was set; otherwise the backend's end could be missed
		}
		if !l.answer(f, raw) {
			return
		}
	}
	l.forget(f)
	f.release() // lingering flows do not count towards the limit
	if l.lingering.Add(1) <= maxLingering {
		for end := f.lastUse().Add(l.linger); f.unanswered.Load() > 0 && f.readsUntil(end) && l.answer(f, raw); {
		}
	}
	l.lingering.Add(-1)
}

func (f *flow) lastUse() time.Time { return time.Unix(0, f.used.Load()) }

// readsUntil sets the read deadline and reports whether time is left.
func (f *flow) readsUntil(end time.Time) bool {
	return time.Until(end) > 0 && f.conn.SetReadDeadline(end) == nil
}

// buffers are shared, because each of the many waiting flows would otherwise hold 64 KiB.
var buffers = sync.Pool{New: func() any { return new([maxDatagram]byte) }}

// answer forwards one answer that arrives in time, and reports whether more may come.
func (l *udpListener) answer(f *flow, raw syscall.RawConn) bool {
	var failed error
	err := raw.Read(func(fd uintptr) bool {
		buffer := buffers.Get().(*[maxDatagram]byte)
		defer buffers.Put(buffer)
		n, err := syscall.Read(int(fd), buffer[:])
		switch {
		case errors.Is(err, syscall.EAGAIN):
			return false
		case err != nil:
			failed = err
		case l.settings.Load().admits(f.client.Addr()): // configure does not reach lingering flows
			_, _ = l.conn.WriteToUDPAddrPort(buffer[:n], f.client) // an error here only means that the client is gone
		}
		return true
	})
	switch err = cmp.Or(err, failed); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return true // the client may have sent something meanwhile
	case err != nil:
		if refused(err) {
			l.group.failed(f.backend)
		}
		return false
	}
	if f.unanswered.Load() > 0 {
		f.unanswered.Add(-1)
	}
	f.used.Store(time.Now().UnixNano())
	return true
}

// forget makes the client's next datagram start another flow.
func (l *udpListener) forget(f *flow) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.flows[f.client] == f {
		delete(l.flows, f.client)
	}
}

func (l *udpListener) finish(f *flow) {
	l.forget(f)
	_ = f.conn.Close()
}

func refused(err error) bool {
	return errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.EHOSTUNREACH)
}

// local reports whether an error comes from this machine and says nothing about the backend.
func local(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOBUFS)
}
