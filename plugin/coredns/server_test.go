package coredns

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/miekg/dns"
)

// The tests run the plugin after CoreDNS's plugin kubernetes.
func init() {
	clog.Discard()
	at := slices.Index(dnsserver.Directives, "clusterset")
	dnsserver.Directives = slices.Insert(dnsserver.Directives, at, "kubernetes")
}

// start runs a server for the test and returns its addresses for UDP and TCP.
func start(t *testing.T, corefile string) (server *caddy.Instance, udp, tcp string) {
	t.Helper()
	server, err := Start(corefile)
	if err != nil {
		t.Fatalf("%v\n%s", err, corefile)
	}
	t.Cleanup(func() {
		if err := Stop(server); err != nil {
			t.Error(err)
		}
	})
	listening := server.Servers()[0]
	return server, listening.LocalAddr().String(), listening.Addr().String()
}

// ask sends a query over "udp" or "tcp". A datagram may be lost under load, so ask retries like
// a resolver.
func ask(t *testing.T, network, address, qname string, qtype uint16) *dns.Msg {
	t.Helper()
	m := new(dns.Msg)
	m.SetQuestion(qname, qtype)
	reply, err := exchange(dns.Client{Net: network}, m, address)
	if err != nil {
		t.Fatalf("querying %s: %v", qname, err)
	}
	return reply
}

func exchange(client dns.Client, m *dns.Msg, address string) (*dns.Msg, error) {
	attempts := 5
	if client.Net == "tcp" {
		attempts, client.Timeout = 1, 20*time.Second
	}
	for attempt := 1; ; attempt++ {
		reply, _, err := client.Exchange(m, address)
		var timeout net.Error
		if attempt == attempts || !errors.As(err, &timeout) || !timeout.Timeout() {
			return reply, err
		}
	}
}

// unreachable returns a kubeconfig for an API server that does not exist.
func unreachable(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	err := os.WriteFile(file, []byte(`
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1"}}]
contexts: [{name: c, context: {cluster: c}}]
current-context: c
`), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

var (
	withBlock    = regexp.MustCompile(`(?m)^(\s*clusterset .*\{|\s*clusterset \{)$`)
	withoutBlock = regexp.MustCompile(`(?m)^(\s*)clusterset$`)
	kubeconfig   = regexp.MustCompile(`(?m)^\s*kubeconfig .*$`)
	lameduck     = regexp.MustCompile(`(?m)^\s*lameduck .*$`)
	kubernetes   = regexp.MustCompile(`(?m)^(\s*kubernetes .*\{)$`)
	block        = regexp.MustCompile(`(?m)^(\S.*) \{$`)
	ports        = regexp.MustCompile(`(?m)^(\s*)(ready|health|prometheus)( :\d+)?`)
)

// runnable adapts a Corefile for a cluster to the test: with this kubeconfig, and on free
// ports.
func runnable(corefile, file string) string {
	corefile = kubeconfig.ReplaceAllString(corefile, "")
	corefile = lameduck.ReplaceAllString(corefile, "")
	corefile = withBlock.ReplaceAllString(corefile, "$1\nkubeconfig "+file)
	corefile = withoutBlock.ReplaceAllString(corefile, "${1}clusterset {\nkubeconfig "+file+"\n}")
	// The API server does not exist, so waiting for it is useless.
	corefile = kubernetes.ReplaceAllString(corefile, "$1\nkubeconfig "+file+"\nstartup_timeout 1ms")
	corefile = block.ReplaceAllStringFunc(corefile, func(line string) string {
		zones := strings.Fields(strings.TrimSuffix(line, "{"))
		return strings.Join(zones, ":0 ") + ":0 {"
	})
	return ports.ReplaceAllString(corefile, "$1$2 127.0.0.1:0")
}

func TestDefaultCorefile(t *testing.T) {
	_, udp, tcp := start(t, runnable(Corefile, unreachable(t)))
	for network, address := range map[string]string{"udp": udp, "tcp": tcp} {
		for qname, want := range map[string]int{
			"web.shop.svc.clusterset.local.": dns.RcodeServerFailure,
			"clusterset.local.":              dns.RcodeServerFailure,
			"1.0.0.10.in-addr.arpa.":         dns.RcodeServerFailure,
			"8.b.d.0.1.0.0.2.ip6.arpa.":      dns.RcodeServerFailure,
			"web.shop.svc.cluster.local.":    dns.RcodeRefused,
		} {
			if got := ask(t, network, address, qname, dns.TypeA).Rcode; got != want {
				t.Errorf("%s %s without API server: got %s, want %s", network, qname, dns.RcodeToString[got], dns.RcodeToString[want])
			}
		}
	}
}

// Every Corefile of the plugin's manual starts.
func TestManual(t *testing.T) {
	manual, err := os.ReadFile("../../plugin/clusterset/README.md")
	if err != nil {
		t.Fatal(err)
	}
	file := unreachable(t)
	corefiles := regexp.MustCompile("(?ms)^~~~ corefile\n(.*?)^~~~$").FindAllStringSubmatch(string(manual), -1)
	if len(corefiles) < 6 {
		t.Fatalf("found only %d Corefiles", len(corefiles))
	}
	for _, match := range corefiles {
		corefile := runnable(match[1], file)
		if !strings.Contains(corefile, "kubeconfig "+file) {
			t.Errorf("no plugin was found in\n%s", corefile)
		}
		start(t, corefile)
	}
}

// CoreDNS ignores plugins in a Corefile that are missing from its list of directives, and does
// not report directives that are not compiled in.
func TestDirectives(t *testing.T) {
	registered := map[string]bool{}
	for _, name := range caddy.ListPlugins()["others"] {
		registered[strings.TrimPrefix(name, "dns.")] = true
	}
	for _, name := range caddy.ValidDirectives("dns") {
		if !registered[name] {
			t.Errorf("%s is in the order of plugins but not compiled in", name)
		}
	}
	for _, name := range strings.Fields("bind debug pprof errors log health ready prometheus cache acl loadbalance reload forward clusterset whoami hosts template rewrite") {
		if !registered[name] {
			t.Errorf("%s is not compiled in", name)
		}
	}
}
