package dns

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/coredns/coredns/core/dnsserver"
	_ "github.com/coredns/coredns/plugin/kubernetes" // registers itself
	"github.com/miekg/dns"

	"github.com/atoll-mcs/atoll/plugin/coredns"
	"github.com/atoll-mcs/atoll/test/bench/child"
)

// kind is one configuration of the server. All are one program, with as few plugins as they need:
// no server logs, caches or counts.
type kind struct {
	name  string
	block string // of the Corefile; %[1]s is a kubeconfig
	// cluster says that the server reads the cluster's objects, and can be asked everything.
	cluster bool
	// target is how many times as many questions Atoll is to answer at least.
	target float64
}

// Names of kinds.
const (
	atoll  = "atoll"
	stock  = "stock"
	whoami = "whoami"
)

var kinds = []kind{
	{name: atoll, cluster: true, block: "clusterset {\n kubeconfig %[1]s\n}"},
	{name: stock, cluster: true, target: 1.6, block: "kubernetes clusterset.local {\n kubeconfig %[1]s\n multicluster clusterset.local\n}"},
	// Looks nothing up and answers with two records: about the server's own ceiling.
	{name: whoami, target: 0.9, block: "whoami%.0[1]s"},
}

// RoleServer is the name of the role Server.
const RoleServer = "dns"

// Server is the role of all DNS servers: CoreDNS with all their plugins, of which each has others
// in its Corefile, which is the argument.
func Server(_ context.Context, args []string, in io.Reader, out io.Writer) error {
	// The order of plugins is plugin/coredns's; kubernetes stands where it does in CoreDNS.
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

// server is a DNS server that runs.
type server struct {
	kind
	*child.Process
	address string // host:port
}

// start starts a server, and returns when it answers right.
func (b *bench) start(ctx context.Context, k kind) (*server, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	corefile := fmt.Sprintf("clusterset.local:%d {\n bind 127.0.0.1\n %s\n}\n", port, fmt.Sprintf(k.block, b.kubeconfig))
	began := time.Now()
	p, err := child.Start([]string{"GOMAXPROCS=1"}, RoleServer, corefile)
	if err != nil {
		return nil, err
	}
	s := &server{kind: k, Process: p, address: fmt.Sprintf("127.0.0.1:%d", port)}
	if err := b.waitFor(ctx, s); err != nil {
		s.Stop()
		return nil, err
	}
	b.Say("dns: %s answers %v after its start", k.name, time.Since(began).Round(time.Millisecond))
	if b.serverCPU == "" {
		return s, nil
	}
	if out, err := exec.CommandContext(ctx, "taskset", "--all-tasks", "--cpu-list", "--pid", b.serverCPU, strconv.Itoa(p.Record.PID)).CombinedOutput(); err != nil {
		s.Stop()
		return nil, fmt.Errorf("pinning %s: %w: %s", k.name, err, out)
	}
	return s, nil
}

// freePort finds a port that nobody listens on now, below those that the kernel gives to connections.
func freePort() (int, error) {
	var err error
	for range 100 {
		port := 12_000 + rand.IntN(8_000)
		var tcp net.Listener
		if tcp, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, tcp.Close()
		}
	}
	return 0, fmt.Errorf("finding a free port: %w", err)
}

// patience is how long a server has to read the cluster, and a change to be answered.
const patience = 5 * time.Minute

// waitFor waits until the server answers questions of all sorts as it should.
func (b *bench) waitFor(ctx context.Context, s *server) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := b.allRight(ctx, s)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", s.name, err)
		case <-s.Ended:
			return fmt.Errorf("waiting for %s: it has ended", s.name)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// allRight says what is wrong with a server's answers about the services that were written last.
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

// writeQuestions writes the file that dnsperf reads.
func (b *bench) writeQuestions(ask string) (path string, err error) {
	path = filepath.Join(b.dir, ask+".queries")
	var text []byte
	for _, q := range questions(ask, 0, b.services) {
		text = fmt.Appendf(text, "%s. %s\n", q.name, dns.TypeToString[q.kind])
	}
	return path, os.WriteFile(path, text, 0o600)
}
