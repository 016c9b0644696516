package haproxy

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
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
	done := p.applied >= want && !changed[name] && !restructure
	if done {
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

	if restructure {
		if err := p.rebuild(ctx, all); err != nil {
			p.again(true, changed)
			return err
		}
	}
	var own error
	for _, b := range each {
		if err := p.sync(ctx, b); err != nil {
			p.again(!reached(err), map[types.NamespacedName]bool{b.Name: true})
			if b.Name == name {
				own = err
			}
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.applied = target
	return own
}

// reached tells whether an error is anything but that nobody listens any more.
func reached(err error) bool {
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist)
}

// again puts back what could not be done.
func (p *Provider) again(restructure bool, changed map[types.NamespacedName]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restructure = p.restructure || restructure
	maps.Copy(p.changed, changed)
}

// rebuild has HAProxy run with the structure that is wanted, and where that fails, and one runs, do of it what it can as it is. While
// it is not known whether it runs, nothing is done.
func (p *Provider) rebuild(ctx context.Context, all map[types.NamespacedName]*balancer) error {
	running, err := p.find(ctx)
	if err != nil {
		return err
	}
	p.recognise(running)
	if p.stuck && running != "" {
		_ = p.makeDo(ctx, all) // for trying again may take long, as it did before; what fails now is told then
	}
	err = p.load(ctx, running, all)
	p.stuck = err != nil
	if p.stuck && running != "" {
		err = errors.Join(err, p.makeDo(ctx, all))
	}
	return err
}

// recognise notes what HAProxy runs with, where that is what was written last: a former hub may have written it, and HAProxy may have
// taken it later than was waited for.
func (p *Provider) recognise(running string) {
	if o, err := p.written(); err == nil && (running == "" || running == o.version) {
		p.runsWith(o)
	}
	if running == "" {
		p.ended() // what it listened on, a worker that is ending may have for a moment
	}
}

// load has HAProxy run with the structure that is wanted. running is the version of what it has, "" where it does not run.
func (p *Provider) load(ctx context.Context, running string, all map[types.NamespacedName]*balancer) error {
	unbound := p.tryBinds(ctx, binds(all))
	switch nothing := len(unbound) == len(binds(all)); {
	case nothing && !p.process.sidecar:
		return p.rest(ctx, running)
	case nothing && running == "" && !p.hasWritten():
		return nil
	case running == "" && !p.process.sidecar:
		if err := p.process.prepare(); err != nil {
			return err
		}
	}
	settings := p.settings
	settings.Folder = p.process.folder
	text, err := render(settings, sorted(all), unbound)
	if err != nil {
		return err
	}
	o := outlineOf(text)
	if running != o.version {
		down, err := p.run(ctx, running, o.version, text, all)
		if err != nil {
			return err
		}
		p.fresh(all, down)
		if p.process.sidecar {
			p.worker, _ = p.process.identity(ctx) // where it does not answer, all is looked at when it does
		}
	}
	p.runsWith(o)
	p.runs.Store(true)
	return nil
}

// run has HAProxy start with a configuration, or take another one. It returns what it begins with.
func (p *Provider) run(ctx context.Context, running, version, text string, all map[types.NamespacedName]*balancer) (down map[string][]netip.AddrPort, err error) {
	if err := p.write(ctx, text); err != nil {
		return nil, err
	}
	down = p.handOver(ctx, running, all)
	defer func() { _ = os.Remove(p.stateFile()) }() // what begins by itself later knows better
	p.servers = nil                                 // whatever comes of it, they are others then
	if running != "" || p.process.sidecar {
		return down, p.process.reload(ctx, version)
	}
	err = p.process.start(ctx, version)
	if p.process.folder != "" {
		p.watch() // also one that is slow to begin
	}
	return down, err
}

// rest ends HAProxy, where it runs: there is nothing that it could listen on.
func (p *Provider) rest(ctx context.Context, running string) error {
	if running == "" {
		return nil
	}
	if err := p.process.stop(ctx); err != nil {
		return err
	}
	p.ended()
	p.awaitRelease(ctx)
	return nil
}

// ended notes that there is no HAProxy any more.
func (p *Provider) ended() {
	if !p.process.sidecar {
		p.process.folder = ""
	}
	p.runsWith(outline{})
	p.servers = nil
}

// runsWith notes what HAProxy has read.
func (p *Provider) runsWith(o outline) {
	p.rebound(o.places)
	p.proxies = o.proxies
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

// find returns the version of the configuration that HAProxy runs with, "" where it does not.
// The first time it looks for one that a former hub has started.
func (p *Provider) find(ctx context.Context) (version string, err error) {
	if p.looked {
		return p.process.version(ctx)
	}
	version, err = p.process.find(ctx)
	if err != nil {
		return "", err
	}
	if version != "" {
		o, err := p.written()
		if err != nil {
			return "", fmt.Errorf("reading what a running HAProxy listens on: %w", err)
		}
		p.rebound(o.places)
		p.log.Info("taking over a running HAProxy", "version", version)
		if !p.process.sidecar {
			p.watch()
		}
	}
	p.looked = true
	return version, nil
}

// hasWritten tells whether a HAProxy that is started now has anything to read.
func (p *Provider) hasWritten() bool {
	_, err := p.written()
	return !errors.Is(err, os.ErrNotExist)
}

// written returns what the configuration says that was written last.
func (p *Provider) written() (outline, error) {
	text, err := os.ReadFile(p.process.configFile())
	if err != nil {
		return outline{}, err
	}
	return outlineOf(string(text)), nil
}

// write replaces the configuration, if HAProxy finds the new one right.
func (p *Provider) write(ctx context.Context, text string) error {
	next := p.process.configFile() + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing HAProxy's configuration: %w", err)
	}
	if !p.process.sidecar { // whose container alone has the program
		if err := p.process.check(ctx, next); err != nil {
			return err
		}
	}
	return os.Rename(next, p.process.configFile())
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
			p.note(l.Name, states)
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
		listener, err := (&net.ListenConfig{}).Listen(context.WithoutCancel(ctx), "tcp", place.String())
		if err == nil {
			return listener.Close()
		}
		if !errors.Is(err, syscall.EADDRINUSE) || !p.released[place] || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(askInterval):
		}
	}
}

// awaitRelease returns when what was listened on is free again.
func (p *Provider) awaitRelease(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, releaseTimeout)
	defer cancel()
	for place := range p.released {
		if p.tryBind(ctx, place) != nil {
			return // whoever needs it next is told
		}
	}
	clear(p.released)
}

// sync brings one load balancer's servers up to date.
func (p *Provider) sync(ctx context.Context, b *balancer) error {
	lingering := false
	var refused []error
	for _, l := range b.Listens {
		if !slices.ContainsFunc(l.Binds, func(place netip.AddrPort) bool { return p.bound[place] }) {
			continue
		}
		have := p.servers[l.Name]
		if have == nil {
			var err error
			if have, err = states(ctx, p.process.worker(), l.Name); err != nil {
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
		p.note(l.Name, have)
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
	if lost, err := p.process.lostLines(p.ctx); err == nil && lost != p.lost {
		p.lost = lost
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
		p.note(section, found)
	}
}

// note tells of servers that have gone up or down.
func (p *Provider) note(section string, states map[netip.AddrPort]serverState) {
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
	p.reports.Report(name)
}
