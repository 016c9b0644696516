package coredns

import (
	"io"
	"net"
	"sync"
	"testing"
)

// proxy passes TCP connections on to a server until it is cut.
type proxy struct {
	*testing.T
	address string // where it listens
	server  string

	mu       sync.Mutex
	listener net.Listener
	open     map[net.Conn]struct{}
}

// newProxy returns a proxy for the server that listens on a free port.
func newProxy(t *testing.T, server string) *proxy {
	p := &proxy{T: t, address: "127.0.0.1:0", server: server, open: map[net.Conn]struct{}{}}
	p.heal()
	p.address = p.listener.Addr().String()
	t.Cleanup(p.cut)
	return p
}

// heal listens, again if it was cut.
func (p *proxy) heal() {
	listener, err := net.Listen("tcp", p.address)
	if err != nil {
		p.Fatal(err)
	}
	p.mu.Lock()
	p.listener = listener
	p.mu.Unlock()
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go p.pass(from, listener)
		}
	}()
}

// cut refuses new connections and breaks those that there are.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.listener == nil {
		return // and was not healed
	}
	p.listener.Close()
	p.listener = nil
	for c := range p.open {
		c.Close()
	}
	clear(p.open)
}

func (p *proxy) pass(from net.Conn, by net.Listener) {
	defer from.Close()
	to, err := net.Dial("tcp", p.server)
	if err != nil {
		return
	}
	defer to.Close()
	p.mu.Lock()
	cut := p.listener != by // it was cut since, and does not know of this one
	p.open[from] = struct{}{}
	p.mu.Unlock()
	if cut {
		return
	}
	go func() {
		defer from.Close()
		io.Copy(from, to)
	}()
	io.Copy(to, from)
}
