package container

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/atoll-mcs/atoll/lab/internal/mountinfo"
)

// kernelFileSystems hold no programs or data of the host's that a container
// could want: it has those of them that it needs of its own.
var kernelFileSystems = strings.Fields("autofs binfmt_misc bpf cgroup cgroup2 configfs debugfs devpts devtmpfs " +
	"efivarfs fusectl hugetlbfs mqueue nsfs proc pstore ramfs rpc_pipefs securityfs selinuxfs sysfs tmpfs tracefs")

// privateFolders are the container's own, whatever the host has there.
var privateFolders = []string{"/proc", "/sys", "/dev", "/run", "/tmp", "/etc"}

// otherMounts lists where the host has mounted further disks: an overlay of /
// does not show them. Those below skip are left out.
func otherMounts(skip string) ([]string, error) {
	mounts, err := mountinfo.Read()
	if err != nil {
		return nil, fmt.Errorf("reading the host's mounts: %w", err)
	}
	var paths []string
	for _, m := range mounts {
		if m.Point == "/" || slices.Contains(kernelFileSystems, m.Type) || below(skip, m.Point) ||
			slices.ContainsFunc(privateFolders, func(p string) bool { return below(p, m.Point) }) {
			continue
		}
		if !slices.Contains(paths, m.Point) {
			paths = append(paths, m.Point)
		}
	}
	return paths, nil
}

// below tells whether path is dir or in it.
func below(dir, path string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// hidden returns those of the programs that private folders would hide.
func hidden(programs []Mount) []Mount {
	return slices.DeleteFunc(slices.Clone(programs), func(m Mount) bool {
		return !slices.ContainsFunc(privateFolders, func(p string) bool { return below(p, m.Target) })
	})
}

// bindAll binds files and folders of the host, which is still at oldRoot.
func bindAll(mounts []Mount) error {
	for _, m := range mounts {
		source := filepath.Join(oldRoot, m.Source)
		if err := makeTarget(source, m.Target); err != nil {
			return fmt.Errorf("making room for %s: %w", m.Target, err)
		}
		if err := bind(source, m.Target, m.ReadOnly); err != nil {
			return err
		}
	}
	return nil
}

func bind(source, target string, readOnly bool) error {
	if err := unix.Mount(source, target, "", unix.MS_BIND|unix.MS_REC, ""); err != nil {
		return fmt.Errorf("mounting %s: %w", target, err)
	}
	if !readOnly {
		return nil
	}
	if err := unix.Mount("", target, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""); err != nil {
		return fmt.Errorf("making %s read-only: %w", target, err)
	}
	return nil
}

// makeTarget makes sure that there is something of source's kind to mount over.
// A symbolic link that leads nowhere (/etc/resolv.conf to something in /run) is
// replaced.
func makeTarget(source, target string) error {
	from, err := os.Stat(source)
	if err != nil {
		return err
	}
	to, err := os.Stat(target)
	if err == nil && to.IsDir() == from.IsDir() {
		return nil
	}
	if err == nil {
		return fmt.Errorf("mounting %s: one is a folder and the other is not", source)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if link, err := os.Lstat(target); err == nil && link.Mode()&fs.ModeSymlink != 0 {
		if err := os.Remove(target); err != nil {
			return err
		}
	}
	if from.IsDir() {
		return os.MkdirAll(target, 0o755)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return err
	}
	f, err := os.OpenFile(target, os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	return f.Close()
}
