package lab

import (
	"errors"
	"os"
	"strings"
	"testing"
)

func TestCheckSockets(t *testing.T) {
	s := Shape{Clusters: 3, Nodes: 1}
	if err := checkSockets("/root/.local/state/atoll/labs/atoll", s); err != nil {
		t.Error(err)
	}
	if err := checkSockets("/home/somebody/.local/state/atoll/labs/"+strings.Repeat("x", nameMax), s); !errors.Is(err, ErrUsage) || !strings.Contains(err.Error(), "characters too long") {
		t.Errorf("got %v", err)
	}
}

// checkOverlay detects a file system without overlayfs support before a lab starts, and leaves
// no files behind.
func TestCheckOverlay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("it mounts, which needs root")
	}
	dir := t.TempDir()
	t.Setenv("XDG_STATE_HOME", dir)
	if err := checkOverlay(); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir + "/atoll"); err != nil || len(left) != 1 { // the folder of labs
		t.Errorf("left are %v, %v", left, err)
	}
	t.Setenv("XDG_STATE_HOME", "/proc/self")
	if err := checkOverlay(); err == nil {
		t.Error("no error for /proc")
	}
	t.Setenv("XDG_STATE_HOME", dir+"/with:colons,and commas") // mount options cannot contain these characters
	if err := checkOverlay(); err == nil || !strings.Contains(err.Error(), "XDG_STATE_HOME") {
		t.Errorf("got %v", err)
	}
}
