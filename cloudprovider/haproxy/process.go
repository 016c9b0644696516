package haproxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a running HAProxy: a master that is nobody's child, and its workers. It is known by the folder
// of its sockets, which is its own, so that one that is still ending is in nobody's way.
type process struct {
	program string
	dir     string // the provider's
	folder  string // of the sockets; empty when none is running, unless it is a sidecar
	// sidecar is that somebody else starts it, with its sockets in the provider's folder.
	sidecar bool
}

const (
	// loadTimeout is for HAProxy to have read its configuration.
	loadTimeout = 15 * time.Second
	askInterval = 20 * time.Millisecond
)

func (p *process) configFile() string  { return filepath.Join(p.dir, "haproxy.cfg") }
func (p *process) currentFile() string { return filepath.Join(p.dir, "current") }
func (p *process) worker() string      { return filepath.Join(p.folder, "worker.sock") }
func (p *process) master() string      { return filepath.Join(p.folder, "master.sock") }

// find looks for a HAProxy that another hub has started. It returns what version does.
func (p *process) find(ctx context.Context) (version string, err error) {
	if p.sidecar {
		return p.version(ctx)
	}
	name, err := os.ReadFile(p.currentFile())
	if err != nil {
		if errors.Is(err, os.ErrNotExist) {
			return "", nil
		}
		return "", fmt.Errorf("reading where HAProxy's sockets are: %w", err)
	}
	p.folder = filepath.Join(p.dir, filepath.Base(strings.TrimSpace(string(name))))
	version, err = p.version(ctx)
	if err == nil && version == "" {
		p.folder = ""
	}
	return version, err
}

// errEnding is that a worker was asked that is ending, because HAProxy is, or another worker takes its place.
var errEnding = errors.New("HAProxy is ending, or handing over to another process of its own")

// attempts is how often a HAProxy is asked that ends while it is.
const attempts = 10

// version asks the worker which configuration it has read. "" is that there is none that takes connections, and another
// may take its place. An error is that this is not known: HAProxy may be well, and slow to answer.
func (p *process) version(ctx context.Context) (version string, err error) {
	for range attempts {
		version, err = p.askVersion(ctx)
		if !errors.Is(err, errEnding) && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
			break
		}
		select {
		case <-ctx.Done():
			return version, err
		case <-time.After(askInterval):
		}
	}
	return version, err
}

func (p *process) askVersion(ctx context.Context) (version string, err error) {
	if p.folder == "" {
		return "", nil
	}
	answer, err := ask(ctx, p.worker(), "show info")
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "", nil // it has closed its socket: it has ended, or is ending
	case errors.Is(err, os.ErrNotExist) && p.sidecar:
		return "", nil // it has not read anything of the hub's yet
	case errors.Is(err, os.ErrNotExist):
		if pids := processesOf(p.folder); len(pids) > 0 {
			return "", fmt.Errorf("HAProxy's sockets in %s have been deleted, and it can't be told anything without them: end process %d", p.folder, pids[0])
		}
		return "", nil
	case err != nil:
		return "", fmt.Errorf("asking HAProxy what it does: %w", err)
	}
	info := fieldsOf(answer)
	if stopping := info["Stopping"]; stopping != "" && stopping != "0" {
		return "", errEnding
	}
	if info["description"] == "" {
		return "", fmt.Errorf("asking HAProxy what it does: it answers %q: %w", answer, errEnding)
	}
	return info["description"], nil
}

// lostLines returns how many lines the worker could not log, because nobody took them in time.
func (p *process) lostLines(ctx context.Context) (lost string, err error) {
	answer, err := ask(ctx, p.worker(), "show info")
	return fieldsOf(answer)["DroppedLogs"], err
}

// fieldsOf reads an answer of lines like "Name: value".
func fieldsOf(answer string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(answer) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), ": "); found {
			fields[name] = value
		}
	}
	return fields
}

// prepare makes the folder of a process that is to be started, and removes those of which no process is left.
func (p *process) prepare() error {
	p.folder = filepath.Join(p.dir, "run-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return fmt.Errorf("making a folder for HAProxy's sockets: %w", err)
	}
	old, _ := filepath.Glob(filepath.Join(p.dir, "run-*")) // fails for bad patterns only
	for _, folder := range old {
		if folder != p.folder && len(processesOf(folder)) == 0 {
			_ = os.RemoveAll(folder)
		}
	}
	return nil
}

// start starts it with the configuration that is written, in a session of its own, so that
// nothing ends with this program. When it fails there is none, or it is one that version asks.
func (p *process) start(ctx context.Context, version string) (err error) {
	defer func() {
		if err != nil && len(processesOf(p.folder)) == 0 {
			p.folder = ""
		}
	}()
	if err := os.WriteFile(p.currentFile(), []byte(filepath.Base(p.folder)+"\n"), 0o600); err != nil {
		return fmt.Errorf("noting where HAProxy's sockets are: %w", err)
	}
	// Whoever waits may give up; what has been begun is brought to an end all the same.
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), loadTimeout)
	defer cancel()
	var output bytes.Buffer
	cmd := exec.CommandContext(starting, p.program, "-W", "-D", "-f", p.configFile(), "-L", "local",
		"-S", p.master()+",mode,600", "-p", filepath.Join(p.folder, "pid"))
	cmd.Stdout, cmd.Stderr, cmd.Dir = &output, &output, p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("starting HAProxy: %w: %s", err, output.String())
	}
	return p.await(ctx, version)
}

// reload has it read the configuration anew. The listening sockets are handed over to the new
// worker, and the old one goes on with the connections that it has.
func (p *process) reload(ctx context.Context, version string) error {
	_, err := ask(ctx, p.master(), "reload")
	if p.sidecar && !reached(err) {
		err = p.reloadLater(ctx, err)
	}
	if err != nil {
		return fmt.Errorf("having HAProxy reload: %w", err)
	}
	return p.await(ctx, version)
}

func (p *process) await(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	for {
		// The master opens its socket last.
		now, err := p.version(ctx)
		if err == nil && now == version && p.answers(ctx) {
			return nil
		}
		if err == nil && now == "" && !p.sidecar && len(processesOf(p.folder)) == 0 {
			return errors.New("HAProxy has ended while it was to take its new configuration: look at its output, or at what other programs listen on")
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("HAProxy does not take its new configuration, or not in time: look at its output, or at what other programs listen on"), err)
		case <-tick.C:
		}
	}
}

func (p *process) answers(ctx context.Context) bool {
	_, err := p.pid(ctx)
	return err == nil
}

// check has the program check a configuration.
func (p *process) check(ctx context.Context, file string) error {
	output, err := exec.CommandContext(ctx, p.program, "-c", "-q", "-L", "local", "-f", file).CombinedOutput()
	if err != nil {
		return fmt.Errorf("checking HAProxy's configuration: %w: %s", err, output)
	}
	return nil
}

// pid asks for the master's.
func (p *process) pid(ctx context.Context) (int, error) {
	answer, err := ask(ctx, p.master(), "show proc")
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(answer) {
		if f := strings.Fields(line); len(f) > 1 && f[1] == "master" {
			return strconv.Atoi(f[0])
		}
	}
	return 0, fmt.Errorf("HAProxy's master does not tell its process id: %s", answer)
}

// stop has it end when its connections have.
func (p *process) stop(ctx context.Context) error {
	pid, err := p.pid(ctx)
	if err != nil {
		return fmt.Errorf("ending HAProxy, which has nothing to carry: %w", err)
	}
	if err := syscall.Kill(pid, syscall.SIGUSR1); err != nil {
		return fmt.Errorf("ending HAProxy, which has nothing to carry: %w", err)
	}
	p.folder = ""
	_ = os.Remove(p.currentFile()) // where it stays, nobody answers there
	return nil
}
