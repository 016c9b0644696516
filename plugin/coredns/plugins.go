// Package coredns is CoreDNS with the plugins of atoll-dns.
package coredns

import (
	"github.com/coredns/coredns/core/dnsserver"

	// Each import registers a plugin.
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
	_ "github.com/atoll-mcs/atoll/plugin/tcplimit"
)

// CoreDNS keeps its plugin order in a global variable that programs must set before they start a server. This is
// CoreDNS's order (plugin.cfg) with clusterset in place of kubernetes, and tcplimit before all that answer.
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
		"tcplimit",
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
