package container

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// oldRoot is where the host's root file system is while the container's is put
// together. Sources of mounts are reached through it.
const oldRoot = "/.host"

// setUp turns the calling process's fresh namespaces into the container. Paths
// below the new root are used only after it has become the root: a symbolic
// link in it (/var/run) must not lead to the host's.
func setUp(spec *Spec) error {
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		return fmt.Errorf("making mounts private: %w", err)
	}
	others, err := otherMounts(spec.Dir)
	if err != nil {
		return err
	}
	root, err := mountOverlay(spec.Dir)
	if err != nil {
		return err
	}
	if err := pivot(root); err != nil {
		return err
	}
	var mounts []Mount
	for _, path := range others {
		mounts = append(mounts, Mount{Source: path, Target: path, ReadOnly: true})
	}
	if err := bindAll(mounts); err != nil {
		return err
	}
	if err := mountSystem(); err != nil {
		return err
	}
	if err := hide(spec.Hide); err != nil {
		return err
	}
	if err := bindAll(append(hidden(spec.Programs), spec.Mounts...)); err != nil {
		return err
	}
	if err := finishRoot(spec); err != nil {
		return err
	}
	if err := unix.Sethostname([]byte(spec.Hostname)); err != nil {
		return fmt.Errorf("setting the host name: %w", err)
	}
	unix.Umask(0o022)
	return nil
}

// mountOverlay mounts the host's root with a writable layer in dir and returns
// the mount point. Where dir's file system cannot hold such a layer (one that
// is an overlay itself, for instance), the layer is kept in memory.
func mountOverlay(dir string) (string, error) {
	diskErr := overlayIn(dir)
	if diskErr == nil {
		return filepath.Join(dir, "root"), nil
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0755"); err != nil {
		return "", fmt.Errorf("mounting a writable layer in memory: %w", err)
	}
	if err := overlayIn(dir); err != nil {
		return "", fmt.Errorf("mounting an overlay of / with its writable layer in %s: %w; in memory: %w. "+
			"Containers need overlayfs in the kernel and the right to mount it", dir, diskErr, err)
	}
	return filepath.Join(dir, "root"), nil
}

func overlayIn(dir string) error {
	for _, sub := range []string{"upper", "work", "root"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return err
		}
	}
	escape := strings.NewReplacer(`\`, `\\`, `,`, `\,`, `:`, `\:`)
	// volatile: nothing in the layer outlives the container, so that ending it
	// need not wait for the disk.
	options := fmt.Sprintf("lowerdir=/,upperdir=%s,workdir=%s,volatile",
		escape.Replace(filepath.Join(dir, "upper")), escape.Replace(filepath.Join(dir, "work")))
	return unix.Mount("overlay", filepath.Join(dir, "root"), "overlay", 0, options)
}

func pivot(root string) error {
	if err := os.MkdirAll(filepath.Join(root, oldRoot), 0o700); err != nil {
		return fmt.Errorf("making room for the host's root: %w", err)
	}
	if err := unix.PivotRoot(root, filepath.Join(root, oldRoot)); err != nil {
		return fmt.Errorf("changing the root: %w", err)
	}
	return os.Chdir("/")
}

// mountSystem mounts what every container has of its own.
func mountSystem() error {
	const nosuid = unix.MS_NOSUID | unix.MS_NOEXEC | unix.MS_NODEV
	for _, m := range []struct {
		target, fstype string
		flags          uintptr
		data           string
	}{
		{"/proc", "proc", nosuid, ""},
		{"/sys", "sysfs", nosuid | unix.MS_RDONLY, ""},
		{"/dev", "tmpfs", unix.MS_NOSUID, "mode=0755,size=64k"},
		{"/dev/pts", "devpts", unix.MS_NOSUID | unix.MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0620,gid=5"},
		{"/dev/shm", "tmpfs", nosuid, "mode=1777,size=64m"},
		{"/tmp", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=1777"},
		{"/run", "tmpfs", unix.MS_NOSUID | unix.MS_NODEV, "mode=0755"},
	} {
		if err := os.MkdirAll(m.target, 0o755); err != nil {
			return err
		}
		if err := unix.Mount(m.fstype, m.target, m.fstype, m.flags, m.data); err != nil {
			return fmt.Errorf("mounting %s: %w", m.target, err)
		}
	}
	if err := makeDevices(); err != nil {
		return fmt.Errorf("making devices: %w", err)
	}
	// The kernel's settings are the host's, most of them.
	for _, path := range []string{"/proc/sys", "/proc/sysrq-trigger"} {
		// A kernel may lack the latter.
		if err := bind(path, path, true); err != nil && !errors.Is(err, unix.ENOENT) {
			return err
		}
	}
	return os.MkdirAll("/run/lock", 0o1777)
}

func makeDevices() error {
	for _, d := range []struct {
		name         string
		major, minor uint32
	}{
		{"null", 1, 3}, {"zero", 1, 5}, {"full", 1, 7}, {"random", 1, 8}, {"urandom", 1, 9}, {"tty", 5, 0},
	} {
		path := "/dev/" + d.name
		if err := unix.Mknod(path, unix.S_IFCHR|0o666, int(unix.Mkdev(d.major, d.minor))); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if err := os.Chmod(path, 0o666); err != nil { // whatever the umask
			return err
		}
	}
	for name, target := range map[string]string{
		"ptmx": "pts/ptmx", "fd": "/proc/self/fd",
		"stdin": "/proc/self/fd/0", "stdout": "/proc/self/fd/1", "stderr": "/proc/self/fd/2",
	} {
		if err := os.Symlink(target, "/dev/"+name); err != nil {
			return err
		}
	}
	return nil
}

// hide makes host folders appear empty.
func hide(folders []string) error {
	for _, path := range folders {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			continue
		}
		if err := unix.Mount("tmpfs", path, "tmpfs", unix.MS_RDONLY, "mode=0755,size=4k"); err != nil {
			return fmt.Errorf("hiding %s: %w", path, err)
		}
	}
	return nil
}

// finishRoot lets go of the host's root and closes the container's own.
func finishRoot(spec *Spec) error {
	if err := unix.Unmount(oldRoot, unix.MNT_DETACH); err != nil {
		return fmt.Errorf("letting go of the host's root: %w", err)
	}
	if err := os.Remove(oldRoot); err != nil {
		return fmt.Errorf("removing %s: %w", oldRoot, err)
	}
	if spec.WorkDir != "" {
		if err := os.MkdirAll(spec.WorkDir, 0o755); err != nil {
			return fmt.Errorf("making the working folder: %w", err)
		}
	}
	if !spec.ReadOnlyRoot {
		return nil
	}
	for _, path := range []string{"/", "/tmp", "/run"} {
		err := unix.Mount("", path, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, "")
		if err != nil && !errors.Is(err, unix.EINVAL) {
			return fmt.Errorf("making %s read-only: %w", path, err)
		}
	}
	return nil
}
