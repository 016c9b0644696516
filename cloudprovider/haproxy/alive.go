package haproxy

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"
)

// processesOf returns the processes that have been started with sockets in the folder, by number: master and workers. Those that
// nobody has taken note of since they ended are none.
func processesOf(folder string) (pids []int) {
	all, _ := filepath.Glob("/proc/[0-9]*/cmdline") // fails for bad patterns only
	for _, file := range all {
		arguments, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(arguments, []byte(folder+"/")) || !bytes.Contains(arguments, []byte("\x00-W\x00")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(file))); err == nil {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

const (
	// firstLook is how soon a process is looked at again that could not be watched.
	firstLook = 100 * time.Millisecond
	// lastLook is how often it is at least.
	lastLook = time.Second
)

// awaitEnd returns the master's process id, and its process group's, when it has ended, or 0 when ctx is done. Where
// the kernel does not tell of its end, or the master does not tell its id, it looks again and again.
func (p process) awaitEnd(ctx context.Context, log *slog.Logger) (pid, group int) {
	for pause := firstLook; ctx.Err() == nil; pause = min(2*pause, lastLook) {
		found, err := p.pid(ctx)
		if err == nil {
			pid = found
			group, _ = unix.Getpgid(pid) // fails when it has ended
			if err = awaitExit(ctx, pid); err == nil {
				return pid, group
			}
		}
		if !reached(err) && len(processesOf(p.folder)) == 0 {
			return pid, group
		}
		if pause == firstLook {
			log.Warn("HAProxy's end will be noticed late", "error", err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return 0, 0
}

// reap takes note of the end of the processes of a group, a master's and its workers', which end with it, where they have
// become this program's children: in a container of which it is process 1, for HAProxy is nobody's child. Else they would stay as zombies.
func reap(ctx context.Context, group int) {
	for group > 0 && ctx.Err() == nil {
		switch pid, err := unix.Wait4(-group, nil, unix.WNOHANG, nil); {
		case errors.Is(err, unix.EINTR), err == nil && pid > 0:
		case err != nil:
			return // there are none
		default:
			select {
			case <-ctx.Done():
			case <-time.After(askInterval):
			}
		}
	}
}

const (
	firstRestart = 100 * time.Millisecond
	lastRestart  = 30 * time.Second
)

// watch has HAProxy be started again when its master ends.
func (p *Provider) watch() {
	watched := p.process
	p.running.Go(func() {
		pid, group := watched.awaitEnd(p.ctx, p.log)
		p.running.Go(func() { reap(p.ctx, group) })
		if p.ctx.Err() == nil {
			p.restart(watched.folder, pid)
		}
	})
}

// restart starts HAProxy, until it runs, unless it has been ended on purpose.
func (p *Provider) restart(folder string, pid int) {
	select {
	case p.applying <- struct{}{}:
	case <-p.ctx.Done():
		return
	}
	mine := p.process.folder == folder
	if mine {
		p.ended() // whatever its workers, which end with it, may answer still
	}
	<-p.applying
	for pause := firstRestart; mine && p.ctx.Err() == nil; pause = min(2*pause, lastRestart) {
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
