package mountinfo

import "testing"

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
