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
	// udpIdle is how long a client without datagrams in either direction keeps its backend; the
	// kernel's own connection tracking forgets two-way streams after two minutes, too.
	udpIdle = 2 * time.Minute
	// udpLinger is how long a backend that is not wanted any more may take for what it owes to a client: as long as clients
	// wait for an answer, as resolvers do.
	udpLinger = 5 * time.Second
	// maxLingering is how many clients' answers a port waits for so at most, for each has a socket beside those of maxFlows.
	maxLingering = 1000
	// maxDatagram is the largest there is.
	maxDatagram = 64 << 10
	// maxFlows is how many clients a port has at most where nothing else is said: each costs a
	// socket, and a sender of made-up source addresses must not take them all.
	maxFlows = 10_000
)

// udpListener forwards the datagrams that are sent to one address and port. Those of one
// client's address and port go to one backend, and the answers back.
type udpListener struct {
	conn     *net.UDPConn
	group    *group
	dialer   dialer
	linger   time.Duration
	settings atomic.Pointer[settings]
	limits   limits
	running  *sync.WaitGroup
	counts   *counts
	ctx      context.Context // ends all
	end      context.CancelFunc

	lingering atomic.Int64 // flows that are none of those below any more, and are owed answers

	mu    sync.Mutex
	flows map[netip.AddrPort]*flow
}

// A flow is what one client sends and gets.
type flow struct {
	client  netip.AddrPort
	backend *backend
	conn    *net.UDPConn
	used    atomic.Int64 // when, in nanoseconds of Unix time
	// owed counts the datagrams that may still be answered, if each is by one.
	owed atomic.Int64
	// release gives the client's place to another, once.
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
	_ = l.conn.SetReadBuffer(4 << 20) // as much as the kernel lets
	l.settings.Store(&settings{})
	l.ctx, l.end = context.WithCancel(context.Background())
	l.running.Go(l.receive)
	return l, nil
}

// configure ends the flows of clients that are not admitted any more: their streams have no end of their own.
func (l *udpListener) configure(s settings, maxConnections, rate int) {
	l.settings.Store(&s)
	if maxConnections == 0 {
		maxConnections = maxFlows
	}
	l.limits.set(maxConnections, rate)
	l.mu.Lock()
	defer l.mu.Unlock()
	for client, f := range l.flows {
		if !s.admits(client.Addr()) {
			_ = f.conn.Close() // and so the flow ends
		}
	}
}

// close ends all flows: no datagram of theirs can come in any more.
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
			continue // of an answer that did not reach its client
		}
		l.send(netip.AddrPortFrom(client.Addr().Unmap(), client.Port()), buffer[:n])
	}
}

// send passes a datagram on. One that a backend refuses goes to another.
func (l *udpListener) send(client netip.AddrPort, data []byte) {
	var failed []*backend
	for {
		f := l.flow(client, failed)
		if f == nil {
			return
		}
		f.used.Store(time.Now().UnixNano())
		f.owed.Add(1)
		_, err := f.conn.Write(data)
		if err == nil {
			return
		}
		l.finish(f)
		switch {
		case refused(err): // tells of an earlier datagram; this one was not sent
			l.group.failed(f.backend)
			failed = append(failed, f.backend)
		case !errors.Is(err, net.ErrClosed): // the backend went meanwhile, and the next one gets it
			return
		}
	}
}

// flow returns the client's, or begins one; nil where that can't be.
func (l *udpListener) flow(client netip.AddrPort, failed []*backend) *flow {
	l.mu.Lock()
	defer l.mu.Unlock()
	if f := l.flows[client]; f != nil {
		if f.backend.ctx.Err() == nil {
			return f
		}
		f.release() // for the one that begins here, also where no other place is free
	}
	if !l.settings.Load().admits(client.Addr()) || l.ctx.Err() != nil {
		return nil
	}
	now := time.Now()
	b := l.group.pick(client.Addr(), failed, now)
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

// answers passes on what the backend sends, until the flow is idle for long, or the backend
// refuses, or is not wanted any more and owes no answer.
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
			break // looked at after the deadline was set: the other way round that of the backend's end could be lost
		}
		if !l.answer(f, raw) {
			return
		}
	}
	l.forget(f)
	f.release() // what lingers takes nobody's place
	if l.lingering.Add(1) <= maxLingering {
		for end := f.lastUse().Add(l.linger); f.owed.Load() > 0 && f.readsUntil(end) && l.answer(f, raw); {
		}
	}
	l.lingering.Add(-1)
}

func (f *flow) lastUse() time.Time { return time.Unix(0, f.used.Load()) }

// readsUntil sets how long an answer is waited for, and tells whether there is time left.
func (f *flow) readsUntil(end time.Time) bool {
	return time.Until(end) > 0 && f.conn.SetReadDeadline(end) == nil
}

// buffers are for answers. A flow that waits for one has none, for there are many.
var buffers = sync.Pool{New: func() any { return new([maxDatagram]byte) }}

// answer passes on one answer, if there is one in time, and tells whether there may be more.
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
		case l.settings.Load().admits(f.client.Addr()): // configure does not know of what lingers
			_, _ = l.conn.WriteToUDPAddrPort(buffer[:n], f.client) // a client that is gone gets no answer
		}
		return true
	})
	switch err = cmp.Or(err, failed); {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return true // and perhaps there was something in the other direction
	case err != nil:
		if refused(err) {
			l.group.failed(f.backend)
		}
		return false
	}
	if f.owed.Load() > 0 {
		f.owed.Add(-1)
	}
	f.used.Store(time.Now().UnixNano())
	return true
}

// forget has the client's next datagram begin another flow.
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

// local tells whether an error is this machine's own, and says nothing of the backend.
func local(err error) bool {
	return errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) || errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.ENOBUFS)
}
