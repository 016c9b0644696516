package haproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// A HAProxy may run in a container of its own, beside the hub's in one pod. The container starts it, and starts it again
// when it ends; the hub tells it everything by the sockets in the folder that both have. So it outlives the hub's container.

// SidecarArguments are those of HAProxy in a container of its own, for a hub that has the options sidecar=true and dir. first
// is a file with what SidecarConfiguration returns.
func SidecarArguments(dir, first string) []string {
	p := process{dir: dir, folder: dir}
	return []string{"-W", "-db", "-L", "local", "-S", p.master() + ",mode,600", "-f", first, "-f", dir}
}

// SidecarConfiguration is what a HAProxy in a container of its own begins with: it carries nothing, and waits for the hub's.
func SidecarConfiguration(dir string) string {
	return fmt.Sprintf("# What the hub writes comes after this.\nglobal\n  fd-hard-limit %s\n  stats socket %s mode 600 level user\n", maxFiles, firstSocket(dir))
}

// firstSocket is where a worker answers whatever else it has read.
func firstSocket(dir string) string { return filepath.Join(dir, "first.sock") }

// errNotRunning is that the container of HAProxy is not there, or about to start it.
var errNotRunning = errors.New("HAProxy does not run: its container starts it, so look at what that says")

// reloadLater has it reload when its master listens, which it does after its worker does, and again after that has read its
// configuration anew. Where no worker answers either, it does not run.
func (p *process) reloadLater(ctx context.Context, err error) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	for !reached(err) && ctx.Err() == nil {
		if !p.works(ctx) {
			return fmt.Errorf("%w: %w", errNotRunning, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(askInterval):
		}
		_, err = ask(ctx, p.master(), "reload")
	}
	return err
}

// attend follows a HAProxy that its container starts. Where another one runs than before, all there is to carry is looked at, and
// where none does, it is told.
func (p *Provider) attend() {
	p.runs.Store(true) // what has never run has to be told, too
	pause := askInterval
	for p.ctx.Err() == nil {
		err := p.process.hold(p.ctx, func() {
			pause = askInterval
			p.runs.Store(true)
			p.running.Go(p.began)
		})
		if err == nil {
			continue // it has ended, or reads its configuration anew
		}
		if p.ctx.Err() == nil && !p.process.works(p.ctx) && p.runs.Swap(false) {
			p.log.Warn("HAProxy does not run", "error", err)
			p.unsettle()
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastLook)
	}
}

// works tells whether there is a worker, also while no master listens: as it begins, or reads its configuration anew.
func (p *process) works(ctx context.Context) bool {
	_, err := ask(ctx, firstSocket(p.dir), "show info")
	return reached(err)
}

// hold connects to the master, and returns when that ends or reads its configuration anew, or ctx is done.
func (p process) hold(ctx context.Context, connected func()) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", p.master())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	connected()
	_, _ = conn.Read(make([]byte, 1)) // it says nothing by itself
	return nil
}

// began looks at a HAProxy that may be another one than before, until it has all that it should carry.
func (p *Provider) began() {
	select {
	case p.applying <- struct{}{}:
	case <-p.ctx.Done():
		return
	}
	worker, err := p.process.identity(p.ctx)
	same := err == nil && worker == p.worker
	if !same {
		p.servers, p.worker = nil, worker // ask for them
	}
	<-p.applying
	for pause := firstRestart; !same && p.ctx.Err() == nil; pause = min(2*pause, lastRestart) {
		want, needed := p.unsettled()
		if !needed {
			return
		}
		err := p.settle(p.ctx, want, types.NamespacedName{})
		if err == nil || !reached(err) { // who holds on to it is told when it runs
			return
		}
		p.log.Error("telling HAProxy what to carry", "error", err)
		select {
		case <-p.ctx.Done():
		case <-time.After(pause):
		}
	}
}

// unsettled notes that HAProxy may have nothing of what is wanted, if anything is.
func (p *Provider) unsettled() (want int, needed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.balancers {
		p.changed[name] = true
	}
	p.restructure = true
	p.wanted++
	return p.wanted, len(p.balancers) > 0
}

// unsettle has all load balancers be looked at by who wants them, who is told then that HAProxy does not run.
func (p *Provider) unsettle() {
	p.unsettled()
	for _, name := range p.LoadBalancers() {
		p.reports.Report(name)
	}
}

// identity tells the worker that takes connections from any other.
func (p *process) identity(ctx context.Context) (string, error) {
	answer, err := ask(ctx, p.worker(), "show info")
	if err != nil {
		return "", err
	}
	info := fieldsOf(answer)
	return info["Pid"] + " since " + info["Start_time_sec"], nil
}
