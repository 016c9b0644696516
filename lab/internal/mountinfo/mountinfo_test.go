package mountinfo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestParse(t *testing.T) {
	for line, want := range map[string]Mount{
		`27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw`:          {"/", "ext4"},
		`31 27 0:45 / /mnt/with\040space rw,relatime - nfs4 srv:/x rw`:    {"/mnt/with space", "nfs4"},
		`31 27 0:45 / /home rw shared:2 master:3 - btrfs /dev/sdb rw,ssd`: {"/home", "btrfs"},
		`nonsense`: {},
	} {
		if got, ok := parse(line); got != want || ok != (want != Mount{}) {
			t.Errorf("%s: got %v, %v", line, got, ok)
		}
	}
}

func TestReadFindsTheRoot(t *testing.T) {
	mounts, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if m.Point == "/" {
			return
		}
	}
	t.Errorf("no root in %v", mounts)
}

// Mounts are stacked, and the path contains a symbolic link.
func TestUnmountBelow(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("mounts, which needs root")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = UnmountBelow(dir) })
	for _, point := range []string{filepath.Join(dir, "outer"), filepath.Join(dir, "outer", "inner")} {
		if err := os.Mkdir(point, 0o755); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mount("tmpfs", point, "tmpfs", 0, ""); err != nil {
			t.Skipf("mounting: %v", err)
		}
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := UnmountBelow(link); err != nil {
		t.Fatal(err)
	}
	mounts, err := Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range mounts {
		if strings.HasPrefix(m.Point, dir+"/") {
			t.Errorf("%s is mounted still", m.Point)
		}
	}
	if err := UnmountBelow(filepath.Join(dir, "nothing")); err != nil {
		t.Errorf("missing folder: %v", err)
	}
}
