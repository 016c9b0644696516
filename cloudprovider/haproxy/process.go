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

// process is a running HAProxy: a master and its workers. A container or system service starts and restarts it; the
// hub uses its sockets in the shared directory.
type process struct{ dir string }

const (
	// loadTimeout is how long HAProxy may take to read its configuration. A busy machine has taken more than 15 s.
	loadTimeout  = 45 * time.Second
	pollInterval = 20 * time.Millisecond
	// firstPause and lastPause bound the backoff between attempts to connect to HAProxy or to configure one that has
	// started.
	firstPause, lastPause = 100 * time.Millisecond, time.Second
	// maxFiles limits HAProxy's open files. HAProxy sizes its tables by the machine's limit, and containers may have
	// none.
	maxFiles = "200000"
)

// Program returns the path of HAProxy on this machine. Debian installs it in /usr/sbin, which only root's PATH has.
func Program() (string, error) {
	program, err := exec.LookPath("haproxy")
	if err != nil {
		program, err = exec.LookPath("/usr/sbin/haproxy")
	}
	return program, err
}

// Arguments returns HAProxy's arguments for a hub with the option dir. first is a file with the text of
// FirstConfiguration.
func Arguments(dir, first string) []string {
	return []string{"-W", "-db", "-L", "local", "-S", process{dir}.master() + ",mode,600", "-f", first, "-f", dir}
}

// FirstConfiguration is the configuration that HAProxy starts with. It carries no traffic until the hub writes its
// own.
func FirstConfiguration(dir string) string {
	return fmt.Sprintf("# HAProxy reads the hub's configuration after this file.\nglobal\n  fd-hard-limit %s\n  stats socket %s mode 600 level user\n", maxFiles, process{dir}.first())
}

func (p process) configFile() string { return filepath.Join(p.dir, "haproxy.cfg") }
func (p process) worker() string     { return filepath.Join(p.dir, "worker.sock") }
func (p process) master() string     { return filepath.Join(p.dir, "master.sock") }

// first is the worker socket that does not depend on the hub's configuration.
func (p process) first() string { return filepath.Join(p.dir, "first.sock") }

// errNotRunning means that HAProxy does not run and nothing is about to start it.
var errNotRunning = errors.New("HAProxy is not running: check the log of the container or service that should restart HAProxy")

// errEnding means that the worker that answered is stopping.
var errEnding = errors.New("HAProxy is stopping or reloading")

// attempts is how often version retries while workers change.
const attempts = 10

// version returns the configuration version of the worker that accepts connections, or "" when there is none. After an
// error the version is unknown: HAProxy may be healthy but slow.
func (p process) version(ctx context.Context) (version string, err error) {
	for attempt := 1; ; attempt++ {
		version, err = p.queryVersion(ctx)
		ending := errors.Is(err, errEnding) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
		if !ending || attempt == attempts || ctx.Err() != nil {
			return version, err
		}
		sleep(ctx, pollInterval)
	}
}

func (p process) queryVersion(ctx context.Context) (version string, err error) {
	info, err := p.info(ctx)
	switch stopping := info["Stopping"]; {
	case err != nil && !reached(err):
		return "", nil // the worker has not read the hub's configuration, has stopped, or is stopping
	case err != nil:
		return "", fmt.Errorf("reading HAProxy's state: %w", err)
	case stopping != "" && stopping != "0":
		return "", errEnding
	case info["description"] == "":
		return "", fmt.Errorf("reading HAProxy's state: unexpected answer %q: %w", info, errEnding)
	}
	return info["description"], nil
}

// info reads the worker's "Name: value" lines.
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

// identity distinguishes the worker that accepts connections from any other.
func (p process) identity(ctx context.Context) (string, error) {
	info, err := p.info(ctx)
	return info["Pid"] + " since " + info["Start_time_sec"], err
}

// reload makes HAProxy read its configuration again. The new worker takes over the listening sockets; the old one
// keeps its connections. A master that starts or reads its configuration does not listen for a moment, so reload
// retries.
func (p process) reload(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	_, err := query(ctx, p.master(), "reload")
	for err != nil && !reached(err) && ctx.Err() == nil {
		if !p.works(ctx) {
			return fmt.Errorf("%w: %w", errNotRunning, err)
		}
		sleep(ctx, pollInterval)
		_, err = query(ctx, p.master(), "reload")
	}
	if err != nil {
		return fmt.Errorf("reloading HAProxy: %w", err)
	}
	for {
		now, err := p.version(ctx)
		if err == nil && now == version && p.listens(ctx) {
			return nil
		}
		if ctx.Err() != nil {
			return errors.Join(errors.New("HAProxy did not apply the new configuration in time: check HAProxy's log, and whether other programs use the same ports"), err)
		}
		sleep(ctx, pollInterval)
	}
}

// sleep returns after a time, or when ctx is done.
func sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// listens reports whether the master is ready; it opens its socket last.
func (p process) listens(ctx context.Context) bool {
	_, err := query(ctx, p.master(), "show proc")
	return err == nil
}

// works reports whether a worker runs, even while the master does not listen.
func (p process) works(ctx context.Context) bool {
	_, err := query(ctx, p.first(), "show info")
	return err == nil || reached(err)
}

// hold connects to the master and returns when the master stops or reloads, or ctx is done.
func (p process) hold(ctx context.Context, connected func()) error {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", p.master())
	if err != nil {
		return err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	connected()
	_, _ = conn.Read(make([]byte, 1)) // the master sends nothing unasked
	return nil
}

// reached reports whether an error means more than "no process listens".
func reached(err error) bool {
	return !errors.Is(err, syscall.ECONNREFUSED) && !errors.Is(err, os.ErrNotExist)
}

// attend watches HAProxy until Close. It gives a new HAProxy everything to carry, and reports to the hub when HAProxy
// does not run.
func (p *Provider) attend() {
	p.runs.Store(true) // so that a HAProxy that never ran is reported, too
	pause := firstPause
	for p.ctx.Err() == nil {
		err := p.process.hold(p.ctx, func() {
			pause = firstPause
			p.runs.Store(true)
			p.running.Go(p.began)
		})
		if err == nil {
			continue // HAProxy stopped or reloads
		}
		if p.ctx.Err() == nil && !p.process.works(p.ctx) && p.runs.Swap(false) {
			p.log.Warn("HAProxy is not running", "error", err)
			p.unsettled()
			for _, name := range p.LoadBalancers() {
				p.report(name) // the hub's next call then gets errNotRunning
			}
		}
		sleep(p.ctx, pause)
		pause = min(2*pause, lastPause)
	}
}

// began configures a HAProxy that may have been restarted, until it carries everything.
func (p *Provider) began() {
	select {
	case p.applying <- struct{}{}:
	case <-p.ctx.Done():
		return
	}
	worker, err := p.process.identity(p.ctx)
	same := err == nil && worker == p.worker
	if !same {
		p.worker = worker
	}
	<-p.applying
	for pause := firstPause; !same && p.ctx.Err() == nil; pause = min(2*pause, lastPause) {
		err := p.apply(p.ctx, p.unsettled(), types.NamespacedName{})
		if err == nil || !reached(err) { // when HAProxy is not reached, attend calls began again later
			return
		}
		p.log.Error("Configuring HAProxy failed. The hub retries.", "error", err)
		sleep(p.ctx, pause)
	}
}

// unsettled marks everything as not applied yet.
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
