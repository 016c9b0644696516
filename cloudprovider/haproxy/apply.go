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

// settle returns when HAProxy has what was wanted at the time of a change. Those that wait while
// another's change is applied have theirs applied together: a reload is for all of them. The
// error is that of the load balancer's, or one of all.
func (p *Provider) settle(ctx context.Context, want int, name types.NamespacedName) error {
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
		if running, err = p.look(ctx); err != nil { // HAProxy may be well, and slow to answer: nothing is done
			p.again(true, changed)
			return err
		}
	}
	var own error
	if !restructure || running != "" { // servers first: a structure that can't be loaded keeps no load balancer from following its backends
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
			p.servers = nil // a worker that is late may take this one's place
			return errors.Join(err, own)
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied = target
	return own
}

// again puts back what could not be done.
func (p *Provider) again(restructure bool, changed map[types.NamespacedName]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restructure = p.restructure || restructure
	maps.Copy(p.changed, changed)
}

// look returns the version of what HAProxy runs with, "" where it does not run, and notes what it listens on.
func (p *Provider) look(ctx context.Context) (running string, err error) {
	if running, err = p.process.version(ctx); err != nil {
		return "", err
	}
	o, err := p.written()
	switch {
	case err == nil && (!p.initialized || running == "" || running == o.version): // a former hub may have written it, or HAProxy may have taken it late
		p.rebound(o.places)
	case err != nil && !p.initialized && running != "":
		return "", fmt.Errorf("reading what a running HAProxy listens on: %w", err)
	}
	p.initialized = true
	if running == "" { // what it listened on, a worker that is ending may have for a moment
		p.rebound(nil)
		p.servers = nil
	}
	return running, nil
}

// load has HAProxy run with the structure that is wanted. running is the version of what it has, "" where it does not run.
func (p *Provider) load(ctx context.Context, running string, all map[types.NamespacedName]*balancer) error {
	unbound := p.tryBinds(ctx, binds(all))
	if running == "" && len(unbound) > 0 {
		if now, err := p.process.version(ctx); err != nil || now != "" {
			return errors.Join(errors.New("HAProxy restarted, and the hub reads its state again"), err) // it may be what listens there
		}
	}
	if running == "" && len(unbound) == len(binds(all)) {
		if _, err := os.Stat(p.process.configFile()); errors.Is(err, os.ErrNotExist) {
			return nil // it has nothing to carry, and never had
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
		down := p.handOver(ctx, running, all)
		defer func() { _ = os.Remove(p.stateFile()) }() // what begins by itself later knows better
		p.servers = nil                                 // whatever comes of it, they are others then
		if err := p.process.reload(ctx, o.version); err != nil {
			return err
		}
		p.fresh(all, down)
		p.worker, _ = p.process.identity(ctx) // where it does not answer, all is looked at when it does
	}
	p.rebound(o.places)
	p.runs.Store(true)
	return nil
}

// rebound notes what is listened on now.
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

// written returns what the configuration says that was written last.
func (p *Provider) written() (outline, error) {
	text, err := os.ReadFile(p.process.configFile())
	if err != nil {
		return outline{}, err
	}
	return outlineOf(string(text)), nil
}

// fresh notes the servers that a configuration begins with: up, but for those that it was told to be down.
func (p *Provider) fresh(all map[types.NamespacedName]*balancer, down map[string][]netip.AddrPort) {
	p.servers = map[string]map[netip.AddrPort]serverState{}
	for _, b := range all {
		for _, l := range b.Listens {
			states := map[netip.AddrPort]serverState{}
			for _, a := range l.Servers {
				states[a] = serverState{down: slices.Contains(down[l.Name], a)}
			}
			for _, a := range l.Resting {
				states[a] = serverState{resting: true}
			}
			p.servers[l.Name] = states
			p.updateUnreachable(l.Name, states)
		}
	}
}

// tryBinds finds places that HAProxy could not listen on, before it tries: one of them would keep
// it from loading all the others.
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

// releaseTimeout is for a worker that is ending to close its listening sockets, which it does first.
const releaseTimeout = 3 * time.Second

// tryBind tries one, and for a while again where a former process may have it still.
func (p *Provider) tryBind(ctx context.Context, place netip.AddrPort) error {
	for {
		err := bind(place)
		if err == nil {
			return nil
		}
		if !errors.Is(err, syscall.EADDRINUSE) || !p.released[place] || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
	}
}

// bind finds out whether a place can be listened on. It does not listen, so that a HAProxy that starts just then can.
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

// dropUnwanted has sections that are not wanted any more lead nowhere, where HAProxy can't be given another structure.
func (p *Provider) dropUnwanted(ctx context.Context, all map[types.NamespacedName]*balancer) {
	have, err := allStates(ctx, p.process.worker())
	if err != nil {
		return // what has failed before is told
	}
	for section, servers := range have {
		if name, ok := ownerOf(section); ok && !all[name].has(section) {
			_ = change(ctx, p.process.worker(), listen{structure: structure{Name: section}}, servers)
		}
	}
}

// sync brings one load balancer's servers up to date, in the sections that HAProxy has.
func (p *Provider) sync(ctx context.Context, b *balancer) error {
	lingering := false
	var refused []error
	for _, l := range b.Listens {
		have := p.servers[l.Name]
		if have == nil {
			var err error
			have, err = states(ctx, p.process.worker(), l.Name)
			if errors.Is(err, errNoSection) {
				continue // it has none of its places, or is yet to be loaded
			}
			if err != nil {
				return fmt.Errorf("asking HAProxy for servers: %w", err)
			}
		}
		if err := change(ctx, p.process.worker(), l, have); err != nil {
			delete(p.servers, l.Name) // whatever it has now, ask
			err = fmt.Errorf("changing servers of HAProxy: %w", err)
			if !errors.Is(err, errRefused) {
				return err
			}
			refused = append(refused, err)
			continue
		}
		if p.servers == nil {
			p.servers = map[string]map[netip.AddrPort]serverState{}
		}
		p.servers[l.Name] = have
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

// refresh looks at the servers of sections of which HAProxy has logged something, and at all of them where it could not
// log everything.
func (p *Provider) refresh(sections map[string]bool) {
	select {
	case p.applying <- struct{}{}:
		defer func() { <-p.applying }()
	case <-p.ctx.Done():
		return
	}
	if info, err := p.process.info(p.ctx); err == nil && info["DroppedLogs"] != p.lost { // lines that nobody took in time
		p.lost = info["DroppedLogs"]
		for section := range p.servers {
			sections[section] = true
		}
	}
	for section := range sections {
		found, err := states(p.ctx, p.process.worker(), section)
		if err != nil {
			continue // it has gone meanwhile
		}
		if p.servers == nil {
			p.servers = map[string]map[netip.AddrPort]serverState{}
		}
		p.servers[section] = found
		p.updateUnreachable(section, found)
	}
}

// updateUnreachable reports servers that have gone up or down.
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
		return // nothing new, or of a section that is wanted no more
	}
	p.unreachable[section] = down
	if len(down) == 0 {
		delete(p.unreachable, section)
	}
	p.report(name)
}
