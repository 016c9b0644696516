// Package clusterset is a CoreDNS plugin that serves the names of the Multi-Cluster Services API's DNS specification.
// It reads only the ServiceImports and EndpointSlices of its own cluster. README.md is its manual.
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
	// label is the value of the metrics' label zones.
	label string
	// names serve the reverse zones; nil without reverse zones.
	names *reverse
	fall  fall.F
	// ttl applies to all records but dns-version, and to negative answers, in seconds.
	ttl uint32
	// serial is the SOA serial: the Unix time of the last change.
	serial atomic.Uint32
	// synced is closed once the index holds every service. It is never reset: without the API server, the last known
	// state is the best answer.
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
		// Names of services exist only here. But addresses outside the clusterset must not lose their PTR names
		// because the API server is away.
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
