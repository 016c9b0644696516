// Package clusterset is a CoreDNS plugin that serves the names of the Multi-Cluster Services API's DNS
// specification. It reads the ServiceImports and EndpointSlices of its own cluster and of no other. README.md is
// its manual.
package clusterset

import (
	"context"
	"sync/atomic"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/fall"
	"github.com/coredns/coredns/request"
	"github.com/miekg/dns"
)

const pluginName = "clusterset"

// Clusterset is the plugin's handler.
type Clusterset struct {
	Next plugin.Handler

	zones []*zone
	// label is what metrics call the zones.
	label string
	// names are what addresses have in the reverse zones; nil without such zones.
	names *reverse
	fall  fall.F
	// ttl is that of all records but one, and how long a negative answer may be
	// kept, in seconds.
	ttl uint32
	// serial is the SOA's: the time of the last change, in seconds.
	serial atomic.Uint32
	// synced is closed once the index holds every service there is. That is never
	// taken back: when the API server goes away, what was known is the best answer.
	synced chan struct{}
}

// Name implements plugin.Handler.
func (c *Clusterset) Name() string { return pluginName }

// ServeDNS implements plugin.Handler.
func (c *Clusterset) ServeDNS(ctx context.Context, w dns.ResponseWriter, r *dns.Msg) (int, error) {
	state := request.Request{W: w, Req: r}
	z, relative := mostSpecific(c.zones, state.Name())
	if z == nil {
		return plugin.NextOrFailure(c.Name(), c.Next, ctx, w, r)
	}
	if t := state.QType(); t == dns.TypeAXFR || t == dns.TypeIXFR {
		return dns.RcodeRefused, nil
	}
	if len(r.Question) == 0 {
		return dns.RcodeServerFailure, nil
	}
	if !c.Ready() {
		// Nobody else can know a service. An address, others may: outside of the clusterset it
		// must not lose its name because the cluster's API is away.
		if z.reverse != nil && c.fall.Through(state.Name()) {
			return plugin.NextOrFailure(c.Name(), c.Next, ctx, w, r)
		}
		return dns.RcodeServerFailure, nil
	}
	k, n, exists := z.find(relative)
	if !exists && c.fall.Through(state.Name()) {
		return plugin.NextOrFailure(c.Name(), c.Next, ctx, w, r)
	}
	m := c.reply(&state, z, k, n)
	if !exists {
		m.Rcode = dns.RcodeNameError
	}
	if err := w.WriteMsg(m); err != nil {
		return dns.RcodeServerFailure, err
	}
	return dns.RcodeSuccess, nil
}
