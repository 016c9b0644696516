// Package container runs one container of a Pod as processes of the host: in
// mount, PID, UTS and IPC namespaces of their own, on a root file system that
// is the host's with a private writable layer over it.
//
// The container's first process is this same program, started anew as
// `container-init` (see Init). It sets the namespaces up, starts the command as
// its child and then only forwards signals and reaps, so that the command has
// the default signal dispositions that a real process 1 lacks. When it ends, or
// when the program that started it ends however it may, the kernel ends
// everything in the container.
//
// It limits no resources and keeps all capabilities: it isolates well-meaning
// programs from each other, not hostile ones from the host.
package container

import "syscall"

// Spec says what a container is made of. It goes to Init as JSON.
type Spec struct {
	// Dir is an existing folder of the container's own, for its writable layer.
	Dir      string
	Hostname string
	// Mounts are bound into the root file system in this order.
	Mounts []Mount
	// Hide lists host folders that appear empty.
	Hide []string
	// Programs are those of the host that stay visible even below /tmp and
	// /run, which are otherwise private to the container.
	Programs []Mount
	// Args is the command; its first element is looked for in Env's PATH.
	Args []string
	Env  []string
	// WorkDir is made when it is absent. Empty means /.
	WorkDir string
	User    *User `json:",omitempty"`
	// ReadOnlyRoot makes everything but the mounts unwritable.
	ReadOnlyRoot bool
	// Stdin keeps the command's standard input open; otherwise it is empty.
	Stdin bool
	// TTY gives the command a terminal instead of three pipes.
	TTY bool
}

// Mount binds a file or folder of the host into the container.
type Mount struct {
	Source, Target string
	ReadOnly       bool
}

// User is what a container's command runs as, in place of root.
type User struct {
	UID, GID uint32
	Groups   []uint32
}

func (u *User) credential() *syscall.Credential {
	if u == nil {
		return nil
	}
	return &syscall.Credential{Uid: u.UID, Gid: u.GID, Groups: u.Groups}
}

// StartError tells that the container could be made but its command could not
// be started.
type StartError struct{ Message string }

func (e *StartError) Error() string { return e.Message }

// reply is what Init tells about the start, once.
type reply struct {
	// SetupError says why the container could not be made, StartError why the
	// command could not be started. Both empty: it runs.
	SetupError, StartError string
}
