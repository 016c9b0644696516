package haproxy

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// process is a running HAProxy: a master and its workers. A container or a service of its own starts it, and starts it again when it
// ends. The hub reaches it by the sockets in the directory that both share.
type process struct{ dir string }

const (
	// loadTimeout is for HAProxy to have read its configuration. On a machine whose processors and disk are busy that has taken more than 15 s.
	loadTimeout  = 45 * time.Second
	pollInterval = 20 * time.Millisecond
	// firstPause and lastPause are between two attempts to connect to a HAProxy that does not run, or to configure one that has started.
	firstPause, lastPause = 100 * time.Millisecond, time.Second
	// maxFiles is how many connections, files and the like a process may have open. HAProxy's tables are as large
	// as the limit of the machine lets them be, and in containers there may be none.
	maxFiles = "200000"
)

// Program returns the path of HAProxy on this machine. Debian installs it where only root's PATH leads.
func Program() (string, error) {
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/haproxy")
	}
	return program, err
}

// Arguments are those of HAProxy, for a hub with the option dir. first is a file with what FirstConfiguration returns.
func Arguments(dir, first string) []string {
	return []string{"-W", "-db", "-L", "local", "-S", process{dir}.master() + ",mode,600", "-f", first, "-f", dir}
}

// FirstConfiguration is what HAProxy starts with: it carries nothing, and waits for the hub's configuration.
func FirstConfiguration(dir string) string {
	return fmt.Sprintf("# What the hub writes comes after this.\nglobal\n  fd-hard-limit %s\n  stats socket %s mode 600 level user\n", maxFiles, process{dir}.first())
}

func (p process) configFile() string { return filepath.Join(p.dir, "haproxy.cfg") }
func (p process) worker() string     { return filepath.Join(p.dir, "worker.sock") }
func (p process) master() string     { return filepath.Join(p.dir, "master.sock") }

// first is where a worker answers whatever else it has read.
func (p process) first() string { return filepath.Join(p.dir, "first.sock") }

// errNotRunning is that HAProxy does not run, and nothing is about to start it.
var errNotRunning = errors.New("HAProxy does not run. Its container or service should restart it: look at its log")

// errEnding is that a worker was asked that is ending, because HAProxy is, or another worker takes its place.
var errEnding = errors.New("HAProxy is stopping or reloading")

// attempts is how often a HAProxy is asked that ends while it is.
const attempts = 10

// version asks the worker which configuration it has read. "" is that there is none that takes connections, and another
// may take its place. An error is that this is not known: HAProxy may be well, and slow to answer.
func (p process) version(ctx context.Context) (version string, err error) {
	for range attempts {
		version, err = p.queryVersion(ctx)
		if !errors.Is(err, errEnding) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			break
		}
		select {
		case <-ctx.Done():
			return version, err
		case <-time.After(pollInterval):
		}
	}
	return version, err
}

func (p process) queryVersion(ctx context.Context) (version string, err error) {
	info, err := p.info(ctx)
	switch stopping := info["Stopping"]; {
	case err != nil && !reached(err):
		return "", nil // it has read nothing of the hub's yet, has ended, or is ending
	case err != nil:
		return "", fmt.Errorf("asking HAProxy what it does: %w", err)
	case stopping != "" && stopping != "0":
		return "", errEnding
	case info["description"] == "":
		return "", fmt.Errorf("asking HAProxy what it does: it answers %q: %w", info, errEnding)
	}
	return info["description"], nil
}

// info asks the worker about itself: lines like "Name: value".
func (p process) info(ctx context.Context) (map[string]string, error) {
	answer, err := query(ctx, p.worker(), "show info")
	fields := map[string]string{}
	for line := range strings.Lines(answer) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			fields[name] = value
		}
	}
	return fields, err
}

// identity tells the worker that takes connections from any other.
func (p process) identity(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	return info["Pid"] + " since " + info["Start_time_sec"], err
}

// reload has HAProxy read the configuration again. The listening sockets are handed over to the new worker, and the old one goes on with
// the connections that it has. A master that has just started, or is reading its configuration, does not listen for a moment.
func (p process) reload(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	_, err := query(ctx, p.master(), "reload")
	for err != nil && !reached(err) && ctx.Err() == nil {
		if !p.works(ctx) {
			return fmt.Errorf("%w: %w", errNotRunning, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
		_, err = query(ctx, p.master(), "reload")
	}
	if err != nil {
		return fmt.Errorf("having HAProxy reload: %w", err)
	}
	return p.await(ctx, version)
}

// await returns when HAProxy has read a configuration.
func (p process) await(ctx context.Context, version string) error {
	tick := time.NewTicker(pollInterval)
	defer tick.Stop()
	for {
		now, err := p.version(ctx)
		if err == nil && now == version && p.listens(ctx) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("HAProxy did not apply its new configuration in time: look at its log, and whether other programs use its ports"), err)
		case <-tick.C:
		}
	}
}

// listens tells whether the master does, which opens its socket last.
func (p process) listens(ctx context.Context) bool {
	_, err := query(ctx, p.master(), "show proc")
	return err == nil
}

// works tells whether there is a worker, also while no master listens.
func (p process) works(ctx context.Context) bool {
	_, err := query(ctx, p.first(), "show info")
	return err == nil || reached(err)
}

// hold connects to the master, and returns when that ends or reads its configuration again, or ctx is done.
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

// reached tells whether an error is anything but that nobody listens.
func reached(err error) bool {
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist)
}

// attend follows HAProxy until the provider is closed. Where another one runs than before, it is given all that there is to carry, and
// where none does, the hub is told.
func (p *Provider) attend() {
	p.runs.Store(true) // what has never run has to be told, too
	pause := firstPause
	for p.ctx.Err() == nil {
		err := p.process.hold(p.ctx, func() {
			pause = firstPause
			p.runs.Store(true)
			p.running.Go(p.began)
		})
		if err == nil {
			continue // it has ended, or reads its configuration again
		}
		if p.ctx.Err() == nil && !p.process.works(p.ctx) && p.runs.Swap(false) {
			p.log.Warn("HAProxy does not run", "error", err)
			p.unsettled()
			for _, name := range p.LoadBalancers() {
				p.report(name) // who asks then is told that HAProxy does not run
			}
		}
		select {
		case <-p.ctx.Done():
		case <-time.After(pause):
		}
		pause = min(2*pause, lastPause)
	}
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
	for pause := firstPause; !same && p.ctx.Err() == nil; pause = min(2*pause, lastPause) {
		err := p.settle(p.ctx, p.unsettled(), types.NamespacedName{})
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

// unsettled notes that HAProxy may have nothing of what is wanted.
func (p *Provider) unsettled() (want int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name := range p.balancers {
		p.changed[name] = true
	}
	p.restructure = true
	p.wanted++
	return p.wanted
}
