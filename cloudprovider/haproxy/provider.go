// Package haproxy is the load-balancer provider that configures HAProxy 2.6 or later. It writes HAProxy's
// configuration and changes backends through the runtime socket. Changed ports or addresses need a reload, which loses
// no connection.
//
// A container or system service runs HAProxy (Arguments), so it outlives the hub. The next hub finds its state in the
// provider's directory. The provider carries TCP only. This machine must already have the addresses.
package haproxy

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/cloudprovider/addresses"
)

// Name is the name of this provider in the registry.
const Name = "haproxy"

func init() { cloudprovider.Register(Name, New) }

// Options of the provider.
const (
	// optionDir is the directory that the hub and HAProxy share: configuration, sockets and the hub's files.
	optionDir = "dir"
	// optionHardStop is how long connections may continue that are older than HAProxy's last reload but one.
	optionHardStop = "hard-stop-after"
	// optionMaxReloads is how many reloads an old process with open connections survives.
	optionMaxReloads = "max-reloads"
)

const (
	defaultDir      = "/run/atoll/haproxy"
	defaultHardStop = 24 * time.Hour
	// defaultMaxReloads assumes about 20 MB per old process.
	defaultMaxReloads = 25
	// maxDir limits the length of the directory's name. Socket paths have a limit, and HAProxy uses longer temporary
	// names.
	maxDir = 64
)

// Provider is the HAProxy provider.
type Provider struct {
	backends cloudprovider.Lister
	pool     *addresses.Pool
	dir      string
	settings configuration // common to all configurations
	log      *slog.Logger
	running  sync.WaitGroup
	runs     atomic.Bool     // whether HAProxy runs, as far as known
	ctx      context.Context // ends on Close
	end      context.CancelFunc

	mu          sync.Mutex
	balancers   map[types.NamespacedName]*balancer
	unbound     map[netip.AddrPort]error
	unreachable map[string][]netip.AddrPort // by section
	report      func(types.NamespacedName)
	// wanted counts changes of balancers. The next two fields are changes that HAProxy does not have yet: whether the
	// structure changed, and which load balancers' servers changed.
	wanted      int
	restructure bool
	changed     map[types.NamespacedName]bool
	// lingering load balancers have removed servers with open connections.
	lingering map[types.NamespacedName]bool

	// applying is a lock on HAProxy and on the following fields; its holder has put a value into it.
	applying    chan struct{}
	process     process
	initialized bool
	applied     int
	bound       map[netip.AddrPort]bool
	released    map[netip.AddrPort]bool // formerly bound: a stopping process may hold them for a moment
	worker      string                  // the identity of the worker that was last configured
}

// New creates the provider and takes over the state of a previous one.
func New(c cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) {
	if err := cloudprovider.CheckOptions(c.Options, optionDir, optionHardStop, optionMaxReloads); err != nil {
		return nil, err
	}
	p := &Provider{
		backends: c.Backends, log: c.Log, dir: defaultDir, restructure: true,
		settings:  configuration{HardStop: fmt.Sprint(defaultHardStop.Milliseconds()), MaxReloads: defaultMaxReloads},
		balancers: map[types.NamespacedName]*balancer{}, unbound: map[netip.AddrPort]error{}, unreachable: map[string][]netip.AddrPort{},
		changed: map[types.NamespacedName]bool{}, lingering: map[types.NamespacedName]bool{}, applying: make(chan struct{}, 1),
	}
	if err := p.configure(c); err != nil {
		return nil, err
	}
	if err := p.recall(); err != nil {
		return nil, err
	}
	p.ctx, p.end = context.WithCancel(context.Background())
	p.running.Go(p.watch)
	p.running.Go(p.attend)
	return p, nil
}

func (p *Provider) configure(c cloudprovider.Config) (err error) {
	if dir := c.Options[optionDir]; dir != "" {
		if p.dir, err = filepath.Abs(dir); err != nil {
			return err
		}
	}
	if len(p.dir) > maxDir {
		return fmt.Errorf("option %s: the path %s is too long for sockets: %d characters instead of at most %d", optionDir, p.dir, len(p.dir), maxDir)
	}
	if text := c.Options[optionHardStop]; text != "" {
		d, err := time.ParseDuration(text)
		if err != nil || d < time.Second || d > 24*24*time.Hour {
			return fmt.Errorf("option %s: %q is not a duration from 1s to 576h", optionHardStop, text)
		}
		p.settings.HardStop = fmt.Sprint(d.Milliseconds())
	}
	if text := c.Options[optionMaxReloads]; text != "" {
		if p.settings.MaxReloads, err = strconv.Atoi(text); err != nil || p.settings.MaxReloads < 1 || p.settings.MaxReloads > 1000 {
			return fmt.Errorf("option %s: %q is not a number from 1 to 1000", optionMaxReloads, text)
		}
	}
	p.settings.Dir, p.settings.States = p.dir, p.stateFile()
	p.process, p.report = process{p.dir}, c.Report
	p.pool, err = addresses.NewPool(c)
	return err
}

func (p *Provider) stateFile() string { return filepath.Join(p.dir, "servers.state") }

var errClosed = errors.New("this hub is shutting down")

// GetMCSLoadBalancer implements cloudprovider.MCSLoadBalancer.
func (p *Provider) GetMCSLoadBalancer(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	b := p.balancers[cloudprovider.KeyOf(mcs)]
	return b.status(p.unbound), b != nil, nil
}

// UpdateMCSLoadBalancer implements cloudprovider.MCSLoadBalancer.
func (p *Provider) UpdateMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	return p.EnsureMCSLoadBalancer(ctx, mcs)
}

// EnsureMCSLoadBalancer implements cloudprovider.MCSLoadBalancer.
func (p *Provider) EnsureMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	name := cloudprovider.KeyOf(mcs)
	service, err := p.backends.Service(name)
	if err != nil {
		return nil, err
	}
	service, refused := cloudprovider.Usable(service)
	p.mu.Lock()
	before := p.balancers[name]
	b, planErr := p.plan(mcs, service)
	if planErr != nil && before != nil {
		b = before.following(service) // even when the options or addresses are invalid
	}
	planErr = errors.Join(planErr, refused)
	if b == nil {
		p.mu.Unlock()
		return nil, planErr
	}
	want, adopted, err := p.adopt(b, before)
	if !adopted && before == nil {
		p.pool.Release(name) // no other code would release it
	}
	p.mu.Unlock()
	if !adopted {
		return nil, err
	}
	err = errors.Join(planErr, err, p.apply(ctx, want, name))
	p.mu.Lock()
	defer p.mu.Unlock()
	status := b.status(p.unbound)
	if before == nil && p.applied < want { // HAProxy may not have it yet
		status = nil
	}
	return status, errors.Join(err, b.failures(p.unbound))
}

// plan needs mu to be held.
func (p *Provider) plan(mcs *networkingv1alpha1.MultiClusterService, s cloudprovider.Service) (*balancer, error) {
	at, options, err := p.pool.Provide(mcs, s, "TCP")
	if err != nil {
		return nil, err
	}
	return plan(cloudprovider.KeyOf(mcs), at, s, options)
}

// adopt makes b the wanted state. If the file cannot be written, only a new load balancer is refused, because it has
// no clients yet. adopt needs mu to be held.
func (p *Provider) adopt(b, before *balancer) (want int, adopted bool, err error) {
	if p.ctx.Err() != nil {
		return 0, false, errClosed
	}
	err = p.remember(b)
	if err != nil && before == nil {
		return 0, false, err
	}
	if before != nil && reflect.DeepEqual(b, before) && b.failures(p.unbound) == nil && !p.lingering[b.Name] {
		return 0, true, err // pending changes are already recorded
	}
	p.balancers[b.Name] = b
	p.changed[b.Name] = true
	if !b.sameStructure(before) || b.failures(p.unbound) != nil {
		p.restructure = true
	}
	p.wanted++
	return p.wanted, true, err
}

// EnsureMCSLoadBalancerDeleted implements cloudprovider.MCSLoadBalancer.
func (p *Provider) EnsureMCSLoadBalancerDeleted(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	name := cloudprovider.KeyOf(mcs)
	p.mu.Lock()
	if p.ctx.Err() != nil {
		p.mu.Unlock()
		return errClosed
	}
	remains := p.forget(name) // an error here does not stop the deletion, only its completion
	before := p.balancers[name]
	p.pool.Forget(name)
	if before == nil && !p.restructure {
		p.mu.Unlock()
		return remains
	}
	delete(p.balancers, name)
	p.restructure = true
	p.wanted++
	want := p.wanted
	p.mu.Unlock()
	err := p.apply(ctx, want, name)
	if errors.Is(err, errNotRunning) {
		err = nil // HAProxy will start without it
	}
	return errors.Join(remains, err)
}

// LoadBalancers implements cloudprovider.Inventory.
func (p *Provider) LoadBalancers() []types.NamespacedName {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Collect(maps.Keys(p.balancers))
}

// Close leaves HAProxy running: it works without a hub.
func (p *Provider) Close() error {
	p.mu.Lock()
	p.end()
	p.mu.Unlock()
	p.running.Wait()
	return nil
}

// Unreachable implements cloudprovider.Reporter.
func (p *Provider) Unreachable(name types.NamespacedName) (all []netip.AddrPort) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if b := p.balancers[name]; b != nil {
		for _, l := range b.Listens {
			all = append(all, p.unreachable[l.Name]...)
		}
	}
	slices.SortFunc(all, netip.AddrPort.Compare)
	return slices.Compact(all)
}
