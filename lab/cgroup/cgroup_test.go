package cgroup

import (
	"os"
	"path/filepath"
	"testing"
)

// TestEnableControllers uses folders as roots of cgroup hierarchies: version 2 with
// controllers, version 2 without controllers (version 1 has them), and version 1.
func TestEnableControllers(t *testing.T) {
	for controllers, want := range map[string]string{"cpuset cpu io memory pids rdma\n": "+cpu +cpuset +memory +pids", "\n": "", "": ""} {
		root := t.TempDir()
		if controllers != "" {
			if err := os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte(controllers), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if err := enableControllers(root); err != nil {
			t.Error(err)
		}
		if got, _ := os.ReadFile(filepath.Join(root, "cgroup.subtree_control")); string(got) != want {
			t.Errorf("%q: enabled %q, want %q", controllers, got, want)
		}
	}
}
