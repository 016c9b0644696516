// Package mountinfo reads the mount table (proc_pid_mountinfo(5)) and unmounts all file systems below a directory.
package mountinfo

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"
)

// Mount is a line of the table.
type Mount struct{ Point, Type string }

// Read returns the mounts of the calling process, in mount order.
func Read() ([]Mount, error) {
	f, err := os.Open("/proc/thread-self/mountinfo")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var mounts []Mount
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20) // overlays have long options
	for lines.Scan() {
		if m, ok := parse(lines.Text()); ok {
			mounts = append(mounts, m)
		}
	}
	return mounts, lines.Err()
}

// UnmountBelow unmounts the calling process's mounts in a folder, the last one first. The folder may be missing.
func UnmountBelow(dir string) error {
	dir, err := filepath.EvalSymlinks(dir) // the table has resolved paths
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	mounts, err := Read()
	if err != nil {
		return fmt.Errorf("listing mounts: %w", err)
	}
	for _, m := range slices.Backward(mounts) {
		if !strings.HasPrefix(m.Point, dir+"/") {
			continue
		}
		if err := unix.Unmount(m.Point, unix.MNT_DETACH); err != nil {
			return fmt.Errorf("unmounting %s: %w", m.Point, err)
		}
	}
	return nil
}

var unescape = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

func parse(line string) (Mount, bool) {
	left, right, ok := strings.Cut(line, " - ")
	fields, types := strings.Fields(left), strings.Fields(right)
	if !ok || len(fields) < 6 || len(types) < 1 {
		return Mount{}, false
	}
	return Mount{unescape.Replace(fields[4]), types[0]}, true
}
