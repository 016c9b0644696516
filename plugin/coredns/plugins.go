// Package coredns is CoreDNS with the plugins of atoll-dns.
package coredns

import (
	"github.com/coredns/coredns/core/dnsserver"

	// Each registers itself with CoreDNS.
	_ "github.com/coredns/coredns/plugin/acl"
	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/bufsize"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/debug"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/forward"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/hosts"
	_ "github.com/coredns/coredns/plugin/loadbalance"
	_ "github.com/coredns/coredns/plugin/log"
	_ "github.com/coredns/coredns/plugin/loop"
	_ "github.com/coredns/coredns/plugin/metrics"
	_ "github.com/coredns/coredns/plugin/pprof"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/reload"
	_ "github.com/coredns/coredns/plugin/rewrite"
	_ "github.com/coredns/coredns/plugin/template"
	_ "github.com/coredns/coredns/plugin/whoami"

	_ "github.com/atoll-mcs/atoll/plugin/clusterset"
)

// CoreDNS keeps the order of its plugins in a global variable, which programs of
// other plugins are meant to set before they start a server. The order is
// CoreDNS's own (its plugin.cfg); clusterset stands where kubernetes does.
func init() {
	dnsserver.Directives = []string{
		"reload",
		"bufsize",
		"bind",
		"debug",
		"ready",
		"health",
		"pprof",
		"prometheus",
		"errors",
		"log",
		"loadbalance",
		"rewrite",
		"acl",
		"cache",
		"template",
		"hosts",
		"clusterset",
		"loop",
		"forward",
		"whoami",
	}
}
