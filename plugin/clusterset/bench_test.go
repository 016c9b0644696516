package clusterset

import (
	"net"

	"github.com/miekg/dns"
)

// discard is a writer that packs a reply, as the server does, and drops it.
type discard struct {
	dns.ResponseWriter
	remote net.Addr
	buffer []byte
}

func (d *discard) RemoteAddr() net.Addr { return d.remote }
func (d *discard) LocalAddr() net.Addr  { return d.remote }

func (d *discard) WriteMsg(m *dns.Msg) error {
	_, err := m.PackBuffer(d.buffer)
	return err
}

// nowhere is a writer that does not even pack.
type nowhere struct{ *discard }

func (nowhere) WriteMsg(*dns.Msg) error { return nil }
