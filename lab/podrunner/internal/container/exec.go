package container

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// drainTime is how long output is still read after an executed command has
// ended, where something that it left behind keeps its pipes open.
const drainTime = 5 * time.Second

// Size is a terminal's size in characters.
type Size struct{ Width, Height uint16 }

// Exec says what to execute in a running container.
type Exec struct {
	Args []string
	// TTY connects Stdin and Stdout by a terminal of the container's own,
	// which follows Resize. Any of the files may be nil.
	TTY            bool
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	Resize         <-chan Size
}

// Exec runs a command in the container, with the environment and user of the
// container's own command, until it ends or ctx is done. The exit code is 126
// or 127, as a shell's, with a *StartError if it cannot be started.
func (p *Process) Exec(ctx context.Context, e Exec) (code int, err error) {
	onThrowAwayThread(func() {
		if err = p.enter(); err == nil {
			code, err = p.run(ctx, e)
		}
	})
	return code, err
}

// onThrowAwayThread calls f on a thread that ends afterwards: one that has left
// the host's namespaces is of no use to anybody else.
func onThrowAwayThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // never unlocked: a goroutine that ends locked ends its thread
		if unix.Gettid() != unix.Getpid() {
			f()
			return
		}
		// The main thread cannot end. It would stay in the container, and the
		// container's mounts with it. While this goroutine holds it, another
		// gets another.
		defer runtime.UnlockOSThread()
		onThrowAwayThread(f)
	}()
	<-done
}

// enter brings the calling thread into the container.
func (p *Process) enter() error {
	// A thread can change its mount namespace only when it shares its root
	// and working folder with no other.
	if err := unix.Unshare(unix.CLONE_FS); err != nil {
		return fmt.Errorf("entering the container: %w", err)
	}
	const all = unix.CLONE_NEWNET | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC | unix.CLONE_NEWPID | unix.CLONE_NEWNS
	err := errors.New("the container has ended")
	// The handle cannot come to mean another process, as a number can.
	handleErr := p.process.WithHandle(func(handle uintptr) { err = unix.Setns(int(handle), all) })
	if err = errors.Join(handleErr, err); err != nil {
		return fmt.Errorf("entering the container: %w", err)
	}
	return nil
}

func (p *Process) run(ctx context.Context, e Exec) (int, error) {
	path, err := lookPath(e.Args[0], p.spec.Env)
	if err != nil {
		return 127, &StartError{Message: err.Error()}
	}
	cmd := exec.CommandContext(ctx, path)
	cmd.Args, cmd.Env, cmd.Dir, cmd.WaitDelay = e.Args, p.spec.Env, p.spec.WorkDir, drainTime
	if cmd.Dir == "" {
		cmd.Dir = "/"
	}
	// No Pdeathsig: the container's end is its end, and with it Go compares
	// process ids of two namespaces.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: p.spec.User.credential()}
	if e.TTY {
		return p.runTerminal(cmd, e)
	}
	return runPiped(cmd, e)
}

func runPiped(cmd *exec.Cmd, e Exec) (int, error) {
	cmd.Stdout, cmd.Stderr = e.Stdout, e.Stderr
	if e.Stdin != nil {
		// Not cmd.Stdin: Wait would wait for a client that never closes it.
		stdin, err := cmd.StdinPipe()
		if err != nil {
			return 126, err
		}
		go func() {
			_, _ = io.Copy(stdin, e.Stdin)
			_ = stdin.Close()
			_, _ = io.Copy(io.Discard, e.Stdin) // what nobody reads must not hold up the rest of the connection
		}()
	}
	return finish(cmd, cmd.Start())
}

func (p *Process) runTerminal(cmd *exec.Cmd, e Exec) (int, error) {
	master, slave, err := openTerminal()
	if err != nil {
		return 126, err
	}
	defer master.Close()
	if p.spec.User != nil {
		_ = slave.Chown(int(p.spec.User.UID), -1)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr.Setctty = true
	if getenv(cmd.Env, "TERM") == "" {
		cmd.Env = append(slices.Clone(cmd.Env), "TERM=xterm")
	}
	err = cmd.Start()
	slave.Close()
	if err != nil {
		return finish(cmd, err)
	}
	stop := make(chan struct{})
	defer close(stop)
	go ResizeTerminal(master, e.Resize, stop)
	if e.Stdin != nil {
		go func() { _, _ = io.Copy(master, e.Stdin) }()
	}
	copied := make(chan struct{})
	go func() {
		defer close(copied)
		out := e.Stdout
		if out == nil {
			out = io.Discard
		}
		// Reading fails with EIO when the last process has closed the terminal.
		// Where writing fails, the client is gone: hang up.
		_, _ = io.Copy(out, master)
		_ = master.Close()
	}()
	code, err := finish(cmd, nil)
	select {
	case <-copied:
	case <-time.After(drainTime):
	}
	return code, err
}

func finish(cmd *exec.Cmd, startErr error) (int, error) {
	if startErr != nil {
		return 126, &StartError{Message: startErr.Error()}
	}
	err := cmd.Wait()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) && !errors.Is(err, exec.ErrWaitDelay) {
		return 126, err
	}
	return exitCode(cmd.ProcessState), nil
}
