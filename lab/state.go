package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Lab is a present or past lab on this machine. Its folder has:
//
//	lab.json            the Spec
//	kubeconfig          the contexts of all API servers, through the loopback interface
//	CLUSTER/admin.conf  the cluster's administrator, from inside the lab's network
//	CLUSTER/pki/        certificates and keys
//	CLUSTER/units/      the units and their processes
//	CLUSTER/logs/       a log for each unit
//	CLUSTER/snapshots/  copies of etcd's data, of the broker alone
//	CLUSTER/…           the units' own files
//	lab/                the same for the gateway, which belongs to no cluster
type Lab struct {
	Spec *Spec
	dir  string
}

// ErrNoLab means that no lab has that name.
var ErrNoLab = errors.New("no such lab")

// stateFolder is the folder of the user's labs.
func stateFolder() (string, error) {
	base := os.Getenv("XDG_STATE_HOME")
	if base == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the directory for labs: %w: set HOME or XDG_STATE_HOME", err)
		}
		base = filepath.Join(home, ".local", "state")
	}
	if !filepath.IsAbs(base) {
		return "", fmt.Errorf("finding the directory for labs: XDG_STATE_HOME is %q, which is not an absolute path", base)
	}
	return filepath.Join(base, "atoll", "labs"), nil
}

// labFolder is the folder of a lab, which need not exist.
func labFolder(name string) (string, error) {
	if !nameRE.MatchString(name) || len(name) > nameMax {
		return "", fmt.Errorf("%w: %q is not the name of a lab", ErrUsage, name)
	}
	root, err := stateFolder()
	if err != nil {
		return "", err
	}
	return filepath.Join(root, name), nil
}

// Open opens a lab by name, or returns ErrNoLab.
func Open(name string) (*Lab, error) {
	dir, err := labFolder(name)
	if err != nil {
		return nil, err
	}
	spec, err := readSpec(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w of this user: %q; to start the lab: atoll lab up --name %s", ErrNoLab, name, name)
	}
	if err != nil {
		return nil, fmt.Errorf("opening lab %s: %w", name, err)
	}
	return &Lab{Spec: spec, dir: dir}, nil
}

// List returns the names of the user's labs, including damaged ones.
func List() ([]string, error) {
	root, err := stateFolder()
	if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(root)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("listing labs: %w", err)
	}
	var names []string
	for _, e := range entries {
		if e.IsDir() && nameRE.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names, nil
}

// Name is the lab's name.
func (l *Lab) Name() string { return l.Spec.Name }

// Dir is the folder of a cluster's files, or for "", of the whole lab's.
func (l *Lab) Dir(cluster string) string { return filepath.Join(l.dir, cluster) }

// Kubeconfig is the file with the contexts of all API servers, for programs on this machine.
func (l *Lab) Kubeconfig() string { return filepath.Join(l.dir, "kubeconfig") }

// InClusterKubeconfig is the file with a cluster administrator's credentials for programs in the lab's network. Its
// only context is named after the cluster.
func (l *Lab) InClusterKubeconfig(cluster string) string {
	return filepath.Join(l.dir, cluster, "admin.conf")
}

func readSpec(dir string) (*Spec, error) {
	data, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if err != nil {
		return nil, err
	}
	var s Spec
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("reading lab.json: %w", err)
	}
	return &s, nil
}

// save writes the Spec to disk with fsync: later programs must find everything that is created next, even after a
// crash.
func (l *Lab) save() error {
	data, err := json.MarshalIndent(l.Spec, "", "  ")
	if err != nil {
		return fmt.Errorf("saving lab.json: %w", err)
	}
	if err := writeFile(filepath.Join(l.dir, "lab.json"), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("saving lab.json: %w", err)
	}
	return nil
}

// writeFile replaces a file atomically, and creates its folder.
func writeFile(path string, data []byte, mode fs.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", data, mode); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// lock locks the lab against changes by other programs. It waits until patience is over, then returns an error. The
// returned function unlocks.
func lock(ctx context.Context, name string, patience time.Duration) (func(), error) {
	dir, err := labFolder(name)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return nil, fmt.Errorf("creating the directory for labs: %w: set XDG_STATE_HOME to a directory that this user can write to", err)
	}
	path := dir + ".lock" // not a lab's folder: names have no dots
	for deadline := time.Now().Add(patience); ; {
		f, err := tryLock(path)
		if err == nil {
			return func() { _ = os.Remove(path); _ = f.Close() }, nil
		}
		if !errors.Is(err, unix.EWOULDBLOCK) {
			return nil, fmt.Errorf("locking lab %s: %w", name, err)
		}
		if time.Now().After(deadline) {
			return nil, fmt.Errorf("another command is changing lab %s: try again when the other command has ended", name)
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("locking lab %s: %w", name, ctx.Err())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// tryLock locks a file, or fails with EWOULDBLOCK. It checks that the file's last owner has not removed it, because
// that lock would be useless.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err = unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err == nil {
		var mine, there os.FileInfo
		if mine, err = f.Stat(); err == nil {
			there, err = os.Stat(path)
		}
		if err == nil && os.SameFile(mine, there) {
			return f, nil
		}
		err = unix.EWOULDBLOCK
	}
	_ = f.Close()
	return nil, err
}

// change applies f to the Spec on disk, under the lock.
func (l *Lab) change(ctx context.Context, f func(*Spec) error) error {
	unlock, err := lock(ctx, l.Name(), time.Minute)
	if err != nil {
		return err
	}
	defer unlock()
	spec, err := readSpec(l.dir)
	if err != nil {
		return fmt.Errorf("opening lab %s: %w", l.Name(), err)
	}
	if err := f(spec); err != nil {
		return err
	}
	l.Spec = spec
	return l.save()
}
