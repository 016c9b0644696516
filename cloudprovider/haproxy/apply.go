package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"slices"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// apply returns when HAProxy has applied change number want. Waiting changes share one reload. The error is this load
// balancer's or one that affects all.
func (p *Provider) apply(ctx context.Context, want int, name types.NamespacedName) error {
	select {
	case p.applying <- struct{}{}:
		defer func() { <-p.applying }()
	case <-ctx.Done():
		return ctx.Err()
	}
	p.mu.Lock()
	target, restructure, changed := p.wanted, p.restructure, p.changed
	everyone := name == types.NamespacedName{}
	if p.applied >= want && !restructure && !changed[name] && !(everyone && len(changed) > 0) {
		p.mu.Unlock()
		return nil
	}
	p.restructure, p.changed = false, map[types.NamespacedName]bool{}
	var all map[types.NamespacedName]*balancer
	if restructure {
		all = maps.Clone(p.balancers)
	}
	var each []*balancer
	for n := range changed {
		if b := p.balancers[n]; b != nil {
			each = append(each, b)
		}
	}
	p.mu.Unlock()

	running := ""
	if restructure {
		var err error
		if running, err = p.readRunning(ctx); err != nil { // HAProxy may be healthy but slow, so change nothing
			p.again(true, changed)
			return err
		}
	}
	var own error
	if !restructure || running != "" { // servers first, so that backends still update when the new structure cannot be loaded
		for _, b := range each {
			if err := p.sync(ctx, b); err != nil {
				p.again(!reached(err), map[types.NamespacedName]bool{b.Name: true})
				if b.Name == name || everyone {
					own = errors.Join(own, err)
				}
			}
		}
	}
	if restructure {
		if err := p.load(ctx, running, all); err != nil {
			p.again(true, changed)
			if running != "" {
				p.dropUnwanted(ctx, all)
			}
			return errors.Join(err, own)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied = target
	return own
}

// again queues changes that failed.
func (p *Provider) again(restructure bool, changed map[types.NamespacedName]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restructure = p.restructure || restructure
	maps.Copy(p.changed, changed)
}

// readRunning returns the version of HAProxy's running configuration ("" when it does not run) and records where it listens.
func (p *Provider) readRunning(ctx context.Context) (running string, err error) {
	if running, err = p.process.version(ctx); err != nil {
		return "", err
	}
	o, err := p.written()
	switch {
	case err == nil && (!p.initialized || running == "" || running == o.version): // a previous hub may have written it, or HAProxy may have loaded it late
		p.rebound(o.places)
	case err != nil && !p.initialized && running != "":
		return "", fmt.Errorf("reading the addresses that the running HAProxy listens on: %w", err)
	}
	p.initialized = true
	if running == "" { // a stopping worker may hold its old sockets for a moment
		p.rebound(nil)
	}
	return running, nil
}

// load makes HAProxy run the wanted structure. running is the version that it runs now, or "".
func (p *Provider) load(ctx context.Context, running string, all map[types.NamespacedName]*balancer) error {
	unbound := p.tryBinds(ctx, binds(all))
	if running == "" && len(unbound) > 0 {
		if now, err := p.process.version(ctx); err != nil || now != "" {
			return errors.Join(errors.New("HAProxy restarted: the hub reads HAProxy's state again"), err) // HAProxy itself may hold the ports
		}
	}
	if running == "" && len(unbound) == len(binds(all)) {
		if _, err := os.Stat(p.process.configFile()); errors.Is(err, os.ErrNotExist) {
			return nil // HAProxy has nothing to carry and never had
		}
	}
	text, err := render(p.settings, sorted(all), unbound)
	if err != nil {
		return err
	}
	o := outlineOf(text)
	if running != o.version {
		if err := replaceFile(p.process.configFile(), []byte(text)); err != nil {
			return err
		}
		p.handOver(ctx, running, all)
		defer func() { _ = os.Remove(p.stateFile()) }() // a worker that starts later on its own must not use old states
		if err := p.process.reload(ctx, o.version); err != nil {
			return err
		}
		p.worker, _ = p.process.identity(ctx) // on an error, attend reads everything again later
	}
	p.rebound(o.places)
	p.runs.Store(true)
	return nil
}

// rebound records the places that HAProxy listens on now.
func (p *Provider) rebound(places []netip.AddrPort) {
	if p.released == nil {
		p.released = map[netip.AddrPort]bool{}
	}
	maps.Copy(p.released, p.bound)
	p.bound = map[netip.AddrPort]bool{}
	for _, place := range places {
		p.bound[place] = true
		delete(p.released, place)
	}
}

// written returns the outline of the last written configuration.
func (p *Provider) written() (outline, error) {
	text, err := os.ReadFile(p.process.configFile())
	if err != nil {
		return outline{}, err
	}
	return outlineOf(string(text)), nil
}

// tryBinds finds places that HAProxy cannot listen on. One such place would make HAProxy reject the whole
// configuration.
func (p *Provider) tryBinds(ctx context.Context, places []netip.AddrPort) map[netip.AddrPort]error {
	unbound := map[netip.AddrPort]error{}
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for _, place := range places {
		if p.bound[place] {
			continue
		}
		if err := p.tryBind(ctx, place); err != nil {
			unbound[place] = err
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unbound = unbound
	return unbound
}

// releaseTimeout is how long a stopping worker may take to close its listening sockets.
const releaseTimeout = 3 * time.Second

// tryBind tests one place, and retries while a previous process may still hold it.
func (p *Provider) tryBind(ctx context.Context, place netip.AddrPort) error {
	for {
		err := bind(place)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || !p.released[place] || ctx.Err() != nil {
			return err
		}
		sleep(ctx, pollInterval)
	}
}

// bind tests a place without listen(2), so that a HAProxy that starts at that moment can listen.
func bind(place netip.AddrPort) error {
	family, address := syscall.AF_INET, syscall.Sockaddr(nil)
	if at := place.Addr(); at.Is4() {
		address = &syscall.SockaddrInet4{Port: int(place.Port()), Addr: at.As4()}
	} else {
		family, address = syscall.AF_INET6, &syscall.SockaddrInet6{Port: int(place.Port()), Addr: at.As16()}
	}
	socket, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err != nil {
		return os.NewSyscallError("socket", err)
	}
	defer func() { _ = syscall.Close(socket) }()
	if err := syscall.SetsockoptInt(socket, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1); err != nil {
		return os.NewSyscallError("setsockopt", err)
	}
	if err := syscall.Bind(socket, address); err != nil {
		return fmt.Errorf("bind to %s: %w", place, err)
	}
	return nil
}

// dropUnwanted empties sections that are no longer wanted when HAProxy cannot load a new structure.
func (p *Provider) dropUnwanted(ctx context.Context, all map[types.NamespacedName]*balancer) {
	have, err := states(ctx, p.process.worker(), "")
	if err != nil {
		return // the caller already reports an error
	}
	for section, servers := range have {
		if name, ok := ownerOf(section); ok && !all[name].has(section) {
			_ = change(ctx, p.process.worker(), listen{structure: structure{Name: section}}, servers)
		}
	}
}

// sync updates one load balancer's servers in the sections that HAProxy has.
func (p *Provider) sync(ctx context.Context, b *balancer) error {
	lingering := false
	var refused []error
	for _, l := range b.Listens {
		found, err := states(ctx, p.process.worker(), l.Name)
		if errors.Is(err, errNoSection) {
			continue // no place of the section could be bound, or it is not loaded yet
		}
		if err != nil {
			return fmt.Errorf("reading the servers from HAProxy: %w", err)
		}
		have := found[l.Name]
		if err := change(ctx, p.process.worker(), l, have); err != nil {
			err = fmt.Errorf("changing HAProxy's servers: %w", err)
			if !errors.Is(err, errRefused) {
				return err
			}
			refused = append(refused, err)
			continue
		}
		p.updateUnreachable(l.Name, have)
		lingering = lingering || len(have) > len(l.Servers)+len(l.Resting)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.lingering, b.Name)
	if lingering {
		p.lingering[b.Name] = true
	}
	return errors.Join(refused...)
}

// healthInterval is how often watch reads HAProxy's health checks.
const healthInterval = 2 * time.Second

// watch records which servers answer, until Close.
func (p *Provider) watch() {
	tick := time.NewTicker(healthInterval)
	defer tick.Stop()
	for {
		select {
		case <-p.ctx.Done():
			return
		case <-tick.C:
			p.refresh()
		}
	}
}

func (p *Provider) refresh() {
	select {
	case p.applying <- struct{}{}:
		defer func() { <-p.applying }()
	case <-p.ctx.Done():
		return
	}
	found, err := states(p.ctx, p.process.worker(), "")
	if err != nil {
		return // HAProxy does not run, or is slow
	}
	for section, servers := range found {
		p.updateUnreachable(section, servers)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	maps.DeleteFunc(p.unreachable, func(section string, _ []netip.AddrPort) bool { return found[section] == nil })
}

// updateUnreachable records and reports servers that went up or down.
func (p *Provider) updateUnreachable(section string, states map[netip.AddrPort]serverState) {
	var down []netip.AddrPort
	for a, s := range states {
		if s.down {
			down = append(down, a)
		}
	}
	slices.SortFunc(down, netip.AddrPort.Compare)
	name, ok := ownerOf(section)
	p.mu.Lock()
	defer p.mu.Unlock()
	if !ok || !p.balancers[name].has(section) || slices.Equal(down, p.unreachable[section]) {
		return // unchanged, or the section is no longer wanted
	}
	p.unreachable[section] = down
	if len(down) == 0 {
		delete(p.unreachable, section)
	}
	p.report(name)
}
