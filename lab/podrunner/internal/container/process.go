package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// NetworkNamespace is where a container's processes are started.
type NetworkNamespace interface {
	// Do calls f on a thread that is in the namespace.
	Do(f func() error) error
}

// Process is a running container.
type Process struct {
	// Stdin writes to the command, nil unless the Spec asks for it. Stdout and
	// Stderr read what it writes; with a terminal, Terminal stands for all
	// three. Who started the container reads them to their end and closes them.
	Stdin                    *os.File
	Stdout, Stderr, Terminal *os.File

	spec    Spec
	process *os.Process
	done    chan struct{}
	code    int
}

// Start makes a container in a network namespace and starts its command.
// initCommand are the name and arguments with which this program calls Init.
// The error is a *StartError when only the command is at fault.
func Start(initCommand []string, netns NetworkNamespace, spec Spec) (*Process, error) {
	p := &Process{spec: spec, done: make(chan struct{})}
	cmd := &exec.Cmd{
		// This very program, even if its file was replaced meanwhile.
		Path: "/proc/self/exe", Args: initCommand, Dir: "/",
		// One thread is enough to wait with.
		Env: []string{"GOMAXPROCS=1", "GOGC=50"},
		SysProcAttr: &syscall.SysProcAttr{
			Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWUTS | unix.CLONE_NEWIPC,
			Pdeathsig:  syscall.SIGKILL,
		},
	}
	control, theirs, err := socketPair()
	if err != nil {
		return nil, fmt.Errorf("making the control socket: %w", err)
	}
	defer control.Close()
	closeTheirs, err := p.pipes(cmd)
	if err != nil {
		theirs.Close()
		return nil, err
	}
	cmd.ExtraFiles = []*os.File{theirs}

	started := make(chan error, 1)
	go func() {
		// The death signal comes when the *thread* that started the process
		// ends, so that it has to stay until the process is gone. Were it not
		// locked, it could become one that Exec throws away.
		err := netns.Do(func() error {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			if err := cmd.Start(); err != nil {
				return err
			}
			p.process = cmd.Process
			started <- nil
			_ = cmd.Wait()
			p.code = exitCode(cmd.ProcessState)
			close(p.done)
			return nil
		})
		if err != nil {
			started <- err
		}
	}()
	err = <-started
	theirs.Close()
	closeTheirs()
	if err != nil {
		p.Close()
		return nil, fmt.Errorf("starting container-init: %w", err)
	}
	if err := p.handshake(control); err != nil {
		p.Kill()
		<-p.done
		p.Close()
		return nil, err
	}
	return p, nil
}

// pipes connects cmd's standard files; the returned function closes its ends.
func (p *Process) pipes(cmd *exec.Cmd) (closeTheirs func(), err error) {
	if p.spec.TTY { // the terminal comes with the reply
		return func() {}, nil
	}
	var theirs []*os.File
	pipe := func() (r, w *os.File) {
		if err == nil {
			r, w, err = os.Pipe()
		}
		return r, w
	}
	if p.spec.Stdin {
		var r *os.File
		r, p.Stdin = pipe()
		cmd.Stdin = r
		theirs = append(theirs, r)
	}
	var w *os.File
	p.Stdout, w = pipe()
	cmd.Stdout = w
	theirs = append(theirs, w)
	p.Stderr, w = pipe()
	cmd.Stderr = w
	theirs = append(theirs, w)
	closeTheirs = func() {
		for _, f := range theirs {
			f.Close()
		}
	}
	if err != nil {
		closeTheirs()
		p.Close()
		return nil, fmt.Errorf("making pipes: %w", err)
	}
	return closeTheirs, nil
}

// Close closes the process's files. Who started the container calls it when it
// has ended and its output is read.
func (p *Process) Close() {
	for _, f := range []*os.File{p.Stdin, p.Stdout, p.Stderr, p.Terminal} {
		if f != nil {
			f.Close()
		}
	}
}

// handshake sends the spec and waits for the reply.
func (p *Process) handshake(control *net.UnixConn) error {
	if err := json.NewEncoder(control).Encode(p.spec); err != nil {
		return fmt.Errorf("sending the container's spec: %w", err)
	}
	if err := control.CloseWrite(); err != nil {
		return fmt.Errorf("sending the container's spec: %w", err)
	}
	rights := &rightsReader{conn: control}
	r, err := readReply(rights)
	if rights.file != nil {
		p.Terminal = rights.file
	}
	switch {
	case err != nil:
		return fmt.Errorf("hearing from container-init: %w", err)
	case r.SetupError != "":
		return fmt.Errorf("setting the container up: %s", r.SetupError)
	case r.StartError != "":
		return &StartError{Message: r.StartError}
	case p.spec.TTY && p.Terminal == nil:
		return errors.New("setting the container up: no terminal came")
	}
	return nil
}

// Done is closed when the container has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// ExitCode is the command's exit code, 128 plus the signal's number where a
// signal ended it. It is known once Done is closed.
func (p *Process) ExitCode() int { return p.code }

// Signal sends a signal to the container's command.
func (p *Process) Signal(s syscall.Signal) error { return p.process.Signal(s) }

// Kill ends everything in the container.
func (p *Process) Kill() { _ = p.process.Kill() }

func exitCode(state *os.ProcessState) int {
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
