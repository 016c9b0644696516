package container

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"
)

// controlFD is where Init finds the socket to the program that started it.
const controlFD = 3

// Init is the main function of a container's first process. It reads its Spec
// from the control socket, replies when the command runs or cannot, and ends
// with the command's exit code; 128 plus the signal's number where a signal
// ended it. It does not return.
func Init() {
	syscall.CloseOnExec(controlFD)
	control := os.NewFile(controlFD, "control")
	spec, err := readSpec(control)
	if err != nil {
		fmt.Fprintln(os.Stderr, "container-init is started by the pod runner only:", err)
		os.Exit(64)
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	if err := setUp(spec); err != nil {
		respond(control, reply{SetupError: err.Error()}, nil)
		os.Exit(128)
	}
	child, master, err := startCommand(spec)
	if err != nil {
		respond(control, reply{StartError: err.Error()}, nil)
		os.Exit(128)
	}
	respond(control, reply{}, master)
	go forward(signals, child)
	debug.FreeOSMemory() // this process stays as long as the container
	os.Exit(reap(child))
}

// readSpec reads to the end: were only a byte left unread when the socket is
// closed, the runner would get a reset connection and no reply.
func readSpec(control io.Reader) (*Spec, error) {
	text, err := io.ReadAll(control)
	if err != nil {
		return nil, err
	}
	spec := &Spec{}
	return spec, json.Unmarshal(text, spec)
}

// startCommand starts the spec's command. With a terminal it returns the
// terminal's other end, made in the container's own /dev/pts.
func startCommand(spec *Spec) (pid int, master *os.File, err error) {
	path, err := lookPath(spec.Args[0], spec.Env)
	if err != nil {
		return 0, nil, err
	}
	attr := &syscall.ProcAttr{
		Dir: spec.WorkDir, Env: spec.Env, Files: []uintptr{0, 1, 2},
		Sys: &syscall.SysProcAttr{Setsid: true, Credential: spec.User.credential()},
	}
	if spec.TTY {
		var slave *os.File
		if master, slave, err = openTerminal(); err != nil {
			return 0, nil, err
		}
		defer slave.Close()
		if spec.User != nil {
			_ = slave.Chown(int(spec.User.UID), -1)
		}
		attr.Files = []uintptr{slave.Fd(), slave.Fd(), slave.Fd()}
		attr.Sys.Setctty = true
	}
	pid, err = syscall.ForkExec(path, spec.Args, attr)
	if err != nil {
		return 0, nil, fmt.Errorf("exec %s: %w", path, err)
	}
	// From here on only the command holds the ends of the pipes.
	if null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0); err == nil {
		for fd := range 3 {
			_ = unix.Dup2(int(null.Fd()), fd)
		}
		_ = null.Close()
	}
	return pid, master, nil
}

// respond sends the reply, with the terminal if there is one, and closes the
// socket.
func respond(control *os.File, r reply, master *os.File) {
	text, err := json.Marshal(r)
	if err != nil {
		return
	}
	var rights []byte
	if master != nil {
		rights = unix.UnixRights(int(master.Fd()))
		defer master.Close()
	}
	_ = unix.Sendmsg(int(control.Fd()), text, rights, nil, 0)
	_ = control.Close()
}

func forward(signals <-chan os.Signal, child int) {
	for s := range signals {
		switch s {
		case syscall.SIGCHLD, syscall.SIGURG, syscall.SIGPIPE:
			// about this process itself
		default:
			_ = syscall.Kill(child, s.(syscall.Signal))
		}
	}
}

// reap waits for every process that ends in the container until it is child,
// whose exit code it returns.
func reap(child int) int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
			// again
		case err != nil:
			return 255
		case pid == child && status.Exited():
			return status.ExitStatus()
		case pid == child && status.Signaled():
			return 128 + int(status.Signal())
		}
	}
}

// lookPath finds a command as a shell would with this environment.
func lookPath(file string, env []string) (string, error) {
	return searchPath(file, getenv(env, "PATH"), func(path string) error {
		info, err := os.Stat(path)
		switch {
		case err != nil:
			return err
		case info.IsDir():
			return syscall.EISDIR
		case info.Mode()&0o111 == 0:
			return os.ErrPermission
		}
		return nil
	})
}

// readReply reads what respond sent.
func readReply(conn io.Reader) (reply, error) {
	var r reply
	text, err := io.ReadAll(io.LimitReader(conn, 1<<20))
	if err != nil {
		return r, err
	}
	if len(text) == 0 {
		return r, errors.New("it ended without a word")
	}
	return r, json.Unmarshal(text, &r)
}
