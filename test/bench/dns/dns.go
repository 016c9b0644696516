// Package dns compares atoll-dns with stock CoreDNS and the plugin whoami, in the same run with the same
// queries. See docs/reference/dns.md.
package dns

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/cases"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// Cases are the cases of this package.
var Cases = []cases.Case{
	{Name: "dns", About: "atoll-dns beside stock CoreDNS and whoami", Extra: true, Limit: time.Hour, Do: measure},
}

// cluster is the cluster whose services the servers serve.
const cluster = "c1"

// bench is a run of the case.
type bench struct {
	*cases.Run
	dir        string // folder for temporary files
	kubeconfig string
	api        client.WithWatch
	services   int // number of services in the cluster
	changed    int // how many changes there were
	// Server and client each have their own processor if the machine has two. Otherwise these
	// are empty.
	serverCPU, clientCPU string
}

func measure(ctx context.Context, r *cases.Run, c *figure.Case) (err error) {
	if _, err := exec.LookPath("dnsperf"); err != nil {
		return errors.New("dnsperf is missing: apt-get install dnsperf")
	}
	dir, err := os.MkdirTemp("", "atoll-bench-dns-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	b := &bench{Run: r, dir: dir}
	if n := runtime.NumCPU(); n > 1 {
		b.serverCPU, b.clientCPU = "0", strconv.Itoa(n-1)
	}
	on, err := bed.Up(ctx, bed.Options{Name: r.Name, Programs: r.Programs, Clusters: 1, Bare: true, Progress: os.Stderr})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, on.Down(context.WithoutCancel(ctx))) }()
	b.api, b.kubeconfig = on.On[cluster], on.Lab.Kubeconfig()
	if err := b.prepare(ctx, on.Lab); err != nil {
		return err
	}
	for _, services := range r.Services {
		r.Say("dns: writing services %d to %d", b.services, services)
		if err := b.load(ctx, b.services, services); err != nil {
			return err
		}
		b.services = services
		if err := b.measureServers(ctx, c); err != nil {
			return err
		}
	}
	return nil
}

// prepare creates the CRDs and namespaces.
func (b *bench) prepare(ctx context.Context, l *lab.Lab) error {
	for _, crd := range deploy.MemberCRDs() {
		if err := l.Apply(ctx, cluster, crd); err != nil {
			return err
		}
	}
	for i := range namespaces {
		if err := b.api.Create(ctx, bed.NamespaceObject(fmt.Sprintf("ns-%d", i))); err != nil {
			return err
		}
	}
	return nil
}

// measureServers measures all servers with the current services.
func (b *bench) measureServers(ctx context.Context, c *figure.Case) error {
	var servers []*server
	defer func() {
		for _, s := range servers {
			s.Stop()
		}
	}()
	memory := map[string]float64{}
	for _, k := range kinds {
		s, err := b.start(ctx, k)
		if err != nil {
			return err
		}
		servers = append(servers, s)
		bytes, err := s.Record.Memory()
		if err != nil {
			return err
		}
		memory[k.name] = float64(bytes) / (1 << 20)
	}
	for _, ask := range allAsks {
		if err := b.measureRate(ctx, servers, ask, c); err != nil {
			return err
		}
	}
	c.Add(figure.Once(fmt.Sprintf("%d services, memory of the process, beside stock", b.services), figure.MiB, memory[atoll], memory[stock]))
	for _, loaded := range []bool{false, true} {
		for _, change := range changes {
			for _, s := range servers {
				if !s.cluster {
					continue
				}
				if err := b.measureChange(ctx, s, change, loaded, c); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// measureRate queries all servers in turn. The first block is a warm-up and does not count.
func (b *bench) measureRate(ctx context.Context, servers []*server, ask string, c *figure.Case) error {
	file, err := b.writeQuestions(ask)
	if err != nil {
		return err
	}
	rates, work := map[string][]float64{}, map[string][]float64{}
	for block := range b.Blocks + 1 {
		for _, s := range servers {
			if !s.cluster && ask != askA {
				continue
			}
			rate, cpu, err := b.dnsperf(ctx, s, ask, file)
			if err != nil {
				return err
			}
			if block > 0 {
				rates[s.name], work[s.name] = append(rates[s.name], rate), append(work[s.name], cpu)
			}
		}
	}
	for _, other := range kinds {
		if other.name == atoll || len(rates[other.name]) == 0 {
			continue
		}
		name := fmt.Sprintf("%d services, %s, beside %s", b.services, ask, other.name)
		c.Add(figure.New(name, "queries/s", rates[atoll], rates[other.name]...).AtLeastFloors(other.target),
			figure.New(name+", processor time", "µs", work[atoll], work[other.name]...))
	}
	return nil
}
