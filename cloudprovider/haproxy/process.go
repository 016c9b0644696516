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
	folder  string // of the sockets; empty when none is running
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

// find looks for a HAProxy that another hub has started. It returns what version of the
// configuration it has; "" is that none is running.
func (p *process) find(ctx context.Context) (version string) {
	name, err := os.ReadFile(p.currentFile())
	if err != nil {
		return ""
	}
	p.folder = filepath.Join(p.dir, filepath.Base(strings.TrimSpace(string(name))))
	if version = p.version(ctx); version == "" {
		p.folder = ""
	}
	return version
}

// version asks the worker which configuration it has read; "" when it does not answer, or is ending.
func (p *process) version(ctx context.Context) (version string) {
	if p.folder == "" {
		return ""
	}
	answer, err := ask(ctx, p.worker(), "show info")
	if err != nil {
		return ""
	}
	for line := range strings.Lines(answer) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch {
		case name == "Stopping" && value != "0":
			return ""
		case name == "description":
			version = value
		}
	}
	return version
}

// prepare makes the folder of a process that is to be started.
func (p *process) prepare() error {
	p.folder = filepath.Join(p.dir, "run-"+strconv.FormatInt(time.Now().UnixNano(), 36))
	if err := os.MkdirAll(p.folder, 0o700); err != nil {
		return fmt.Errorf("making a folder for HAProxy's sockets: %w", err)
	}
	old, _ := filepath.Glob(filepath.Join(p.dir, "run-*")) // fails for bad patterns only
	for _, folder := range old {
		if folder != p.folder {
			_ = os.RemoveAll(folder) // its process, if it has one, is ending
		}
	}
	return nil
}

// start starts it with the configuration that is written, in a session of its own, so that
// nothing ends with this program.
func (p *process) start(ctx context.Context, version string) error {
	if err := os.WriteFile(p.currentFile(), []byte(filepath.Base(p.folder)+"\n"), 0o600); err != nil {
		return fmt.Errorf("noting where HAProxy's sockets are: %w", err)
	}
	var output bytes.Buffer
	cmd := exec.CommandContext(ctx, p.program, "-W", "-D", "-f", p.configFile(), "-L", "local",
		"-S", p.master()+",mode,600", "-p", filepath.Join(p.folder, "pid"))
	cmd.Stdout, cmd.Stderr, cmd.Dir = &output, &output, p.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if err := cmd.Run(); err != nil {
		p.folder = ""
		return fmt.Errorf("starting HAProxy: %w: %s", err, output.String())
	}
	if err := p.await(ctx, version); err != nil {
		p.folder = ""
		return err
	}
	return nil
}

// reload has it read the configuration anew. The listening sockets are handed over to the new
// worker, and the old one goes on with the connections that it has.
func (p *process) reload(ctx context.Context, version string) error {
	if _, err := ask(ctx, p.master(), "reload"); err != nil {
		return fmt.Errorf("having HAProxy reload: %w", err)
	}
	return p.await(ctx, version)
}

func (p *process) await(ctx context.Context, version string) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	tick := time.NewTicker(askInterval)
	defer tick.Stop()
	// The master opens its socket last.
	for p.version(ctx) != version || !p.answers(ctx) {
		select {
		case <-ctx.Done():
			return errors.New("HAProxy does not take its new configuration: look at its output, or at what other programs listen on")
		case <-tick.C:
		}
	}
	return nil
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
		return err
	}
	p.folder = ""
	if err := os.Remove(p.currentFile()); err != nil {
		return err
	}
	return syscall.Kill(pid, syscall.SIGUSR1)
}
