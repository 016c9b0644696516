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

	"golang.org/x/sys/unix"
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
		if err := p.load(ctx, all); err != nil {
			p.again(true, changed)
			return err
		}
	}
	var own error
	for _, b := range each {
		if err := p.sync(ctx, b); err != nil {
			p.again(false, map[types.NamespacedName]bool{b.Name: true})
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

// again puts back what could not be done.
func (p *Provider) again(restructure bool, changed map[types.NamespacedName]bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.restructure = p.restructure || restructure
	maps.Copy(p.changed, changed)
}

// load has HAProxy run with the structure that is wanted.
func (p *Provider) load(ctx context.Context, all map[types.NamespacedName]*balancer) error {
	running := p.find(ctx)
	if running == "" {
		p.rebound(nil)
	}
	unbound := p.tryBinds(ctx, binds(all))
	if len(unbound) == len(binds(all)) {
		p.rebound(nil)
		p.servers = nil
		if running == "" {
			return nil
		}
		err := p.process.stop(ctx)
		p.awaitRelease(ctx)
		return err
	}
	if running == "" {
		if err := p.process.prepare(); err != nil {
			return err
		}
	}
	text, err := render(configuration{Folder: p.process.folder, LogSocket: p.logSocket(), HardStop: p.hardStop}, sorted(all), unbound)
	if err != nil {
		return err
	}
	version, places := versionOf(text)
	if running != version {
		if err := p.write(ctx, text); err != nil {
			return err
		}
		if running == "" {
			err = p.start(ctx, version)
		} else {
			err = p.process.reload(ctx, version)
		}
		if err != nil {
			return err
		}
		p.fresh(all)
	}
	p.rebound(places)
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

// find returns the version of the configuration that HAProxy runs with, "" where it does not.
// The first time it looks for one that a former hub has started.
func (p *Provider) find(ctx context.Context) (version string) {
	if p.looked {
		return p.process.version(ctx)
	}
	version = p.process.find(ctx)
	p.looked = true
	if version == "" {
		return ""
	}
	if text, err := os.ReadFile(p.process.configFile()); err == nil {
		_, places := versionOf(string(text))
		p.rebound(places)
	}
	p.log.Info("taking over a running HAProxy", "version", version)
	p.watch(ctx)
	return version
}

// start starts HAProxy, and has it started again whenever it ends.
func (p *Provider) start(ctx context.Context, version string) error {
	if err := p.process.start(ctx, version); err != nil {
		return err
	}
	p.watch(ctx)
	return nil
}

// write replaces the configuration, if HAProxy finds the new one right.
func (p *Provider) write(ctx context.Context, text string) error {
	next := p.process.configFile() + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		return fmt.Errorf("writing HAProxy's configuration: %w", err)
	}
	if err := p.process.check(ctx, next); err != nil {
		return err
	}
	return os.Rename(next, p.process.configFile())
}

// fresh notes the servers that a configuration begins with: all of them up.
func (p *Provider) fresh(all map[types.NamespacedName]*balancer) {
	p.servers = map[string]map[netip.AddrPort]serverState{}
	for _, b := range all {
		for _, l := range b.Listens {
			states := map[netip.AddrPort]serverState{}
			for _, a := range l.Servers {
				states[a] = serverState{}
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
		err := change(ctx, p.process.worker(), l, have)
		if err != nil {
			delete(p.servers, l.Name) // whatever it has now, ask
			return fmt.Errorf("changing servers of HAProxy: %w", err)
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
	return nil
}

// refresh looks at the servers of a section of which HAProxy has logged something.
func (p *Provider) refresh(section string) {
	select {
	case p.applying <- struct{}{}:
		defer func() { <-p.applying }()
	case <-p.ctx.Done():
		return
	}
	found, err := states(p.ctx, p.process.worker(), section)
	if err != nil {
		return // it has gone meanwhile
	}
	if p.servers == nil {
		p.servers = map[string]map[netip.AddrPort]serverState{}
	}
	p.servers[section] = found
	p.note(section, found)
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
	if !ok || slices.Equal(down, p.unreachable[section]) {
		return
	}
	p.unreachable[section] = down
	if len(down) == 0 {
		delete(p.unreachable, section)
	}
	p.reports.Report(name)
}

const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 30 * time.Second
)

// watch has HAProxy be started again when its master ends.
func (p *Provider) watch(ctx context.Context) {
	pid, err := p.process.pid(ctx)
	if err != nil {
		p.log.Warn("HAProxy is not watched", "error", err)
		return
	}
	ended, err := watchProcess(p.ctx, pid)
	if err != nil {
		p.log.Warn("HAProxy is not watched", "error", err)
		return
	}
	p.running.Go(func() {
		select {
		case <-p.ctx.Done():
			<-ended
		case <-ended:
			p.restart(pid)
		}
	})
}

// restart starts HAProxy, until it runs.
func (p *Provider) restart(pid int) {
	for pause := firstRestart; p.ctx.Err() == nil; pause = min(2*pause, lastRestart) {
		p.mu.Lock()
		p.restructure = true
		p.wanted++
		want := p.wanted
		needed := len(p.balancers) > 0
		p.mu.Unlock()
		if !needed {
			return
		}
		p.log.Warn("HAProxy has ended, and is started again", "pid", pid)
		err := p.settle(p.ctx, want, types.NamespacedName{})
		if err == nil {
			return
		}
		p.log.Error("starting HAProxy again", "error", err)
		select {
		case <-p.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// watchProcess returns a channel that is closed when the process has ended, or ctx is done.
func watchProcess(ctx context.Context, pid int) (<-chan struct{}, error) {
	fd, err := unix.PidfdOpen(pid, unix.PIDFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("watching process %d: %w", pid, err)
	}
	file := os.NewFile(uintptr(fd), "pidfd")
	raw, err := file.SyscallConn()
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	ended := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { _ = file.Close() })
	go func() {
		defer close(ended)
		defer file.Close()
		defer stop()
		_ = raw.Read(func(fd uintptr) bool { // fails when the file is closed
			poll := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
			n, err := unix.Poll(poll, 0)
			return n > 0 || err != nil && !errors.Is(err, unix.EINTR)
		})
	}()
	return ended, nil
}
