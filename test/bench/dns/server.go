package dns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/kubernetes" // registers itself
	"github.com/miekg/dns"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/plugin/coredns"
	"github.com/atoll-mcs/atoll/test/bench/child"
)

// kind is a configuration of the server. All use the same program with as few plugins as
// possible: no server logs, caches or counts.
type kind struct {
	name  string
	block string // of the Corefile; %[1]s is a kubeconfig
	// cluster is set if the server reads the cluster's objects and can answer all queries.
	cluster bool
	// target is Atoll's minimal query rate as a multiple of this server's.
	target float64
}

// Names of kinds.
const (
	atoll  = "atoll"
	stock  = "stock"
	whoami = "whoami"
)

var kinds = []kind{
	{name: atoll, cluster: true, block: "clusterset {\n kubeconfig %[1]s " + cluster + "\n}"},
	{name: stock, cluster: true, target: 1.6, block: "kubernetes clusterset.local {\n kubeconfig %[1]s " + cluster + "\n multicluster clusterset.local\n}"},
	// whoami looks nothing up and responds with two records, which shows the limit of the
	// server itself.
	{name: whoami, target: 0.9, block: "whoami%.0[1]s"},
}

// RoleServer is the name of the role Server.
const RoleServer = "dns"

// Server is the role of all DNS servers: CoreDNS with all plugins. The argument is the
// Corefile, which selects the plugins.
func Server(_ context.Context, args []string, in io.Reader, out io.Writer) error {
	// The order of plugins is that of plugin/coredns; kubernetes has the position that it has
	// in CoreDNS.
	at := slices.Index(dnsserver.Directives, "clusterset")
	dnsserver.Directives = slices.Insert(slices.Clone(dnsserver.Directives), at, "kubernetes")
	server, err := coredns.Start(args[0])
	if err != nil {
		return fmt.Errorf("starting a DNS server with %s: %w", args[0], err)
	}
	fmt.Fprintln(out, "started")
	_, _ = io.Copy(io.Discard, in)
	return coredns.Stop(server)
}

// server is a running DNS server.
type server struct {
	kind
	*child.Process
	address string // host:port
}

// patience limits the time in which a server must read the cluster, or answer with a change.
const patience = 5 * time.Minute

// start starts a server and waits until it answers all kinds of queries correctly.
func (b *bench) start(ctx context.Context, k kind) (s *server, err error) {
	ports, err := lab.FreePorts(1)
	if err != nil {
		return nil, err
	}
	corefile := fmt.Sprintf("clusterset.local:%d {\n bind 127.0.0.1\n %s\n}\n", ports[0].Port(), fmt.Sprintf(k.block, b.kubeconfig))
	began := time.Now()
	p, err := child.Start([]string{"GOMAXPROCS=1"}, RoleServer, corefile)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			p.Stop()
		}
	}()
	s = &server{kind: k, Process: p, address: ports[0].String()}
	var wrong error
	err = wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		wrong = b.allRight(ctx, s)
		return wrong == nil, nil
	})
	if err != nil {
		return nil, fmt.Errorf("waiting for %s: %w", s.name, errors.Join(err, wrong))
	}
	b.Say("dns: %s answers %v after its start", k.name, time.Since(began).Round(time.Millisecond))
	if b.serverCPU == "" {
		return s, nil
	}
	pin := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", b.serverCPU, strconv.Itoa(p.Record.PID))
	if out, err := pin.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("pinning %s: %w: %s", k.name, err, out)
	}
	return s, nil
}

// allRight returns the error of a wrong response about the services that were written last.
func (b *bench) allRight(ctx context.Context, s *server) error {
	for _, ask := range allAsks {
		if !s.cluster && ask != askA {
			continue
		}
		for _, q := range questions(ask, max(0, b.services-20*headlessEvery), b.services) {
			m, _, err := (&dns.Client{Timeout: time.Second}).ExchangeContext(ctx, new(dns.Msg).SetQuestion(q.name+".", q.kind), s.address)
			if err != nil {
				return err
			}
			code := dns.RcodeSuccess
			if ask == askNone {
				code = dns.RcodeNameError
			}
			if m.Rcode != code || s.cluster && len(m.Answer) != answers[ask] {
				return fmt.Errorf("%s answers %s with %d records to a question of the sort %s", s.name, dns.RcodeToString[m.Rcode], len(m.Answer), ask)
			}
		}
	}
	return nil
}

// writeQuestions writes dnsperf's input file.
func (b *bench) writeQuestions(ask string) (path string, err error) {
	path = filepath.Join(b.dir, ask+".queries")
	var text []byte
	for _, q := range questions(ask, 0, b.services) {
		text = fmt.Appendf(text, "%s. %s\n", q.name, dns.TypeToString[q.kind])
	}
	return path, os.WriteFile(path, text, 0o600)
}
