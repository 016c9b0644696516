// Package lab runs labs: real Kubernetes clusters and a broker in network namespaces on one Linux machine,
// without Docker. See docs/how-to/lab.md.
package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/lab/gateway"
	"github.com/atoll-mcs/atoll/lab/kubebin"
	"github.com/atoll-mcs/atoll/lab/network"
	"golang.org/x/sync/errgroup"
)

// Options are the options for starting a lab.
type Options struct {
	Shape
	// Programs is a folder with the Kubernetes programs; "" means to build each of Shape.Kubernetes from source once,
	// which takes minutes.
	Programs string
	// Atoll is the program atoll, whose subcommands are units; "" means this program.
	Atoll string
	// AgentArgs are additional arguments of the agents.
	AgentArgs []string
	// HubArgs are additional arguments of the hub.
	HubArgs []string
	// Processors is the number of processors for each Kubernetes program; 0 means 1.
	Processors int
	// ServiceBits is the prefix length of the clusters' IPv4 ranges of Services, at least 16; 0 means 16.
	ServiceBits int
	// Audit makes the API servers log all writes, for AuditLog.
	Audit bool
	// Progress receives progress messages; nil means none.
	Progress io.Writer
}

// progress writes lines from several goroutines, each with the elapsed time.
type progress struct {
	mu    sync.Mutex
	w     io.Writer
	start time.Time
}

func (p *progress) say(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprintf(p.w, "%5.1fs  %s\n", time.Since(p.start).Seconds(), fmt.Sprintf(format, args...))
}

// Up starts a lab and returns when it is ready. If a lab of the same shape runs, Up only restarts its killed units. It
// first removes the remains of a lab that crashed or did not start. The processes outlive this program.
//
// If the start fails or ctx is done, Up ends all processes. Logs remain until the next Up or Down.
func Up(ctx context.Context, o Options) (*Lab, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	p := &progress{w: o.Progress, start: time.Now()}
	// A running lab has its programs: do not search or build them.
	if l, err := o.locked(ctx, func() (*Lab, error) { return o.running(ctx, p) }); l != nil || err != nil {
		return l, err
	}
	programs, err := kubebin.Ensure(ctx, o.Progress, o.Kubernetes, o.Programs)
	if err != nil {
		return nil, fmt.Errorf("finding the Kubernetes programs: %w", err)
	}
	p.start = time.Now() // excludes the build time
	return o.locked(ctx, func() (*Lab, error) {
		if l, err := o.running(ctx, p); l != nil || err != nil {
			return l, err
		}
		return o.begin(ctx, p, programs)
	})
}

// locked calls f under the lab's lock. It waits briefly, because a killed Up may still be ending.
func (o *Options) locked(ctx context.Context, f func() (*Lab, error)) (*Lab, error) {
	unlock, err := lock(ctx, o.Name, 2*time.Second)
	if err != nil {
		return nil, err
	}
	defer unlock()
	return f()
}

// begin starts a new lab, and retries if another program takes one of its ports.
func (o *Options) begin(ctx context.Context, p *progress, programs []string) (*Lab, error) {
	for attempt := 1; ; attempt++ {
		l, err := o.attempt(ctx, p, programs)
		if err == nil {
			p.say("lab %s is ready", l.Name())
			return l, nil
		}
		if l == nil || attempt == 3 || ctx.Err() != nil || !l.Spec.portStolen() {
			return nil, fmt.Errorf("starting lab %s: %w", o.Name, err)
		}
		p.say("another program uses a port of the lab: trying again with other ports")
	}
}

// attempt starts a new lab. On failure it ends what it started, and returns the lab if it exists.
func (o *Options) attempt(ctx context.Context, p *progress, programs []string) (*Lab, error) {
	if err := remove(ctx, o.Name); err != nil {
		return nil, fmt.Errorf("removing the leftovers of an earlier lab: %w", err)
	}
	l, err := o.record(programs)
	if err != nil {
		return nil, err
	}
	if err := l.up(ctx, p); err != nil {
		return l, errors.Join(err, l.stop(context.WithoutCancel(ctx)))
	}
	return l, nil
}

// complete checks the options as far as possible in advance.
func (o *Options) complete() error {
	if err := o.validate(); err != nil {
		return err
	}
	var err error
	if o.Kubernetes, o.Programs, err = kubebin.Choose(o.Kubernetes, o.Programs); err != nil {
		return fmt.Errorf("%w: %w", ErrUsage, err)
	}
	o.IPFamily = o.IPFamily.short()
	o.AdvertiseMode, o.DNS, o.ProxyMode = o.AdvertiseMode.short(), o.DNS.short(), o.ProxyMode.short()
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	if o.Atoll == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("finding this program: %w", err)
		}
		o.Atoll = self
	}
	if o.ControlPlaneOnly {
		return nil
	}
	if os.Geteuid() != 0 {
		return errors.New("a lab with nodes and pods creates network namespaces, which requires root: use sudo, or --control-plane-only")
	}
	dir, err := labFolder(o.Name)
	if err != nil {
		return err
	}
	return errors.Join(checkSockets(dir, o.Shape), checkContainers(), network.CheckNft(), o.ProxyMode.checkPrograms())
}

// running returns the lab if it is up, an error if a lab of another shape is, or nil. It restarts killed units.
func (o *Options) running(ctx context.Context, p *progress) (*Lab, error) {
	l, err := Open(o.Name)
	if errors.Is(err, ErrNoLab) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	units, err := l.Units()
	if err != nil || !l.Spec.Ready {
		return nil, nil // it never came up
	}
	dead := slices.DeleteFunc(slices.Clone(units), l.alive)
	if len(dead) == len(units) {
		p.say("lab %s has ended: removing its leftovers", o.Name)
		return nil, nil
	}
	if l.Spec.Shape != o.Shape {
		return nil, fmt.Errorf("lab %s is running with other flags (%s): remove the lab first with: atoll lab down --name %s", o.Name, l.Spec.Shape, o.Name)
	}
	p.say("lab %s is already running, and keeps the programs that it was started with", o.Name)
	if err := l.revive(ctx, p, dead); err != nil {
		return nil, fmt.Errorf("starting the ended programs of lab %s: %w", o.Name, err)
	}
	return l, nil
}

// revive restarts units in the order of their dependencies, and killed parts of Atoll, and waits until the lab is ready
// again.
func (l *Lab) revive(ctx context.Context, p *progress, dead []Unit) error {
	order := []string{unitContainerd, unitAPIServer, unitEtcd, unitGateway} // from last to first
	rank := func(u Unit) int { return slices.IndexFunc(order, u.is) }
	slices.SortStableFunc(dead, func(a, b Unit) int { return rank(b) - rank(a) })
	for _, u := range dead {
		p.say("starting %s again", u)
		if err := l.start(u); err != nil {
			return err
		}
		if err := l.waitProbe(ctx, u); err != nil {
			return err
		}
	}
	if len(dead) > 0 {
		for i := range l.Spec.Clusters {
			if err := l.waitCluster(ctx, &l.Spec.Clusters[i]); err != nil {
				return err
			}
		}
	}
	return l.reviveWorkloads(ctx, p)
}

// waitCluster waits until a restarted cluster answers again.
func (l *Lab) waitCluster(ctx context.Context, c *Cluster) error {
	if err := l.waitAPIServer(ctx, c.Name); err != nil || len(c.PodCIDRs) == 0 {
		return err
	}
	if err := l.waitNodes(ctx, c); err != nil {
		return err
	}
	return l.waitDNS(ctx, c)
}

// record plans the lab and writes the plan, before anything is created.
func (o *Options) record(programs []string) (*Lab, error) {
	dir, err := labFolder(o.Name)
	if err != nil {
		return nil, err
	}
	l := &Lab{Spec: newSpec(o.Shape), dir: dir}
	l.Spec.Programs, l.Spec.Atoll, l.Spec.Audit = programs[0], o.Atoll, o.Audit
	for i := range l.Spec.Clusters {
		l.Spec.Clusters[i].Programs = programs[i%len(programs)]
	}
	l.Spec.shrinkServices(o.ServiceBits)
	l.Spec.AgentArgs, l.Spec.HubArgs, l.Spec.Processors = o.AgentArgs, o.HubArgs, max(1, o.Processors)
	if err := l.Spec.checkNamesFree(); err != nil {
		return nil, err
	}
	if err := l.Spec.choosePorts(); err != nil {
		return nil, err
	}
	return l, l.save()
}

// up creates everything that is recorded.
func (l *Lab) up(ctx context.Context, p *progress) error {
	for i := range l.Spec.Clusters {
		if err := l.makePKI(&l.Spec.Clusters[i]); err != nil {
			return err
		}
	}
	if err := l.writeMergedKubeconfig(); err != nil {
		return err
	}
	if !l.Spec.ControlPlaneOnly {
		if err := l.makeNetwork(); err != nil {
			return fmt.Errorf("creating the network: %w", err)
		}
		raiseInotifyLimit()
		if err := l.makeImages(); err != nil {
			return err
		}
		if err := l.startGateway(ctx); err != nil {
			return err
		}
		p.say("network is ready")
	}
	if err := l.startClusters(ctx, p); err != nil {
		return err
	}
	if !l.Spec.Bare {
		if err := installAtoll(ctx, l); err != nil {
			return fmt.Errorf("installing Atoll: %w", err)
		}
	}
	l.Spec.Ready = true
	return l.save()
}

// startClusters starts all clusters, as many at a time as there are processors: with more, all would be slow and exceed
// their deadlines.
func (l *Lab) startClusters(ctx context.Context, p *progress) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(max(2, runtime.NumCPU()))
	for i := range l.Spec.Clusters {
		group.Go(func() error {
			c := &l.Spec.Clusters[i]
			if err := l.startCluster(ctx, c, p); err != nil {
				return fmt.Errorf("starting %s: %w", c.Name, err)
			}
			p.say("%s is ready", c.Name)
			return nil
		})
	}
	return group.Wait()
}

// startGateway starts the gateway, through which this machine's programs reach the API servers.
func (l *Lab) startGateway(ctx context.Context) error {
	var config gateway.Config
	for _, c := range l.Spec.Clusters {
		config.Forwards = append(config.Forwards, gateway.Forward{
			Listen: c.Loopback, Namespace: c.Nodes[0].Namespace, Target: c.APIServer,
		})
	}
	config.Images, config.Registry = l.imageFolder(), netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), registryPort)
	config.Nodes = map[string]network.Namespace{}
	for _, c := range l.Spec.Clusters {
		for _, n := range c.Nodes {
			config.Nodes[n.Name] = n.Namespace
		}
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return fmt.Errorf("starting the gateway: %w", err)
	}
	return l.Run(ctx, Unit{
		Cluster: wholeLab, Name: unitGateway, Probe: "tcp://" + l.Spec.Clusters[0].Loopback.String(),
		Argv:  []string{l.Spec.Atoll, "lab", "gateway", "--config", filepath.Join(l.Dir(wholeLab), "gateway.json")},
		Files: map[string]string{"gateway.json": string(data)},
	})
}
