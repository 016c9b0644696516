// Package cgroup creates and deletes the control groups of a lab's nodes.
package cgroup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/atoll-mcs/atoll/lab/internal/mountinfo"
)

// root is where control groups are mounted.
const root = "/sys/fs/cgroup"

// hierarchies are the folders of the control groups of this machine: one with version 2, and with version 1 one for each controller, or several, beside
// which there may be one of version 2.
func hierarchies() ([]string, error) {
	mounts, err := mountinfo.Read()
	if err != nil {
		return nil, fmt.Errorf("looking for control groups: %w", err)
	}
	var all []string
	for _, m := range mounts {
		if (m.Type == "cgroup" || m.Type == "cgroup2") && (m.Point == root || strings.HasPrefix(m.Point, root+"/")) {
			all = append(all, m.Point)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("there are no control groups in %s: mount them, as cgroup2 or by controllers", root)
	}
	return all, nil
}

// Prepare has control groups be passed the controllers that pods need. The error is why none can be made here.
func Prepare() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		if err := unix.Access(hierarchy, unix.W_OK); err != nil {
			return fmt.Errorf("pods need control groups, which cannot be made in %s (%w): mount it so that it can be written to, as in a privileged container", hierarchy, err)
		}
		if err := enableControllers(hierarchy); err != nil {
			return err
		}
	}
	return nil
}

// Make makes a control group in all hierarchies, by its path from their roots. It may be there already.
func Make(path string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		group := filepath.Join(hierarchy, path)
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("making a control group, in which pods run: %w", err)
		}
		// All pods of a node together would have as much of a processor as one of the many other programs of labs, and those that request nothing
		// hardly any: a request would take seconds.
		for file, weight := range map[string]string{"cpu.shares": "8192", "cpu.weight": "800"} {
			if _, err := os.Stat(filepath.Join(group, file)); err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(group, file), []byte(weight), 0o644); err != nil {
				return fmt.Errorf("preparing a control group, in which pods run: %w", err)
			}
		}
		// In version 1 no process can be put where no processor is allowed yet.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(hierarchy, group, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// controllers are those that kubelets need in the group of their pods, if the machine has them.
var controllers = []string{"cpu", "cpuset", "memory", "hugetlb", "pids"}

// enableControllers has a version 2 hierarchy pass the controllers on to the groups in it. With version 1 there is nothing to do.
func enableControllers(hierarchy string) error {
	there, err := os.ReadFile(filepath.Join(hierarchy, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for controllers of control groups: %w", err)
	}
	var enable []string
	for _, c := range controllers {
		if slices.Contains(strings.Fields(string(there)), c) {
			enable = append(enable, "+"+c)
		}
	}
	if len(enable) == 0 {
		return nil
	}
	file := filepath.Join(hierarchy, "cgroup.subtree_control")
	err = os.WriteFile(file, []byte(strings.Join(enable, " ")), 0o644)
	if errors.Is(err, unix.EBUSY) { // in a container, whose first group has its processes
		return fmt.Errorf("%s cannot enable controllers for pods, because processes run in it (%w): move them to a child group", hierarchy, err)
	}
	if err != nil {
		return fmt.Errorf("enabling controllers for pods in %s: %w", hierarchy, err)
	}
	return nil
}

func inherit(from, to, file string) error {
	value, err := os.ReadFile(filepath.Join(from, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if have, _ := os.ReadFile(filepath.Join(to, file)); err == nil && len(bytes.TrimSpace(have)) == 0 {
		err = os.WriteFile(filepath.Join(to, file), value, 0o644)
	}
	if err != nil {
		return fmt.Errorf("preparing a control group, in which pods run: %w", err)
	}
	return nil
}

// Remove removes a control group, and what is below it, from all hierarchies. Processes in it have been killed, and may need a moment to be gone.
func Remove(ctx context.Context, path string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		err := wait.PollUntilContextTimeout(ctx, 20*time.Millisecond, 5*time.Second, true, func(context.Context) (bool, error) {
			err := remove(filepath.Join(hierarchy, path))
			if errors.Is(err, unix.EBUSY) {
				return false, nil
			}
			return err == nil, err
		})
		if err != nil {
			return fmt.Errorf("removing control group %s of %s: %w", path, hierarchy, err)
		}
	}
	return nil
}

func remove(group string) error {
	var groups []string
	err := filepath.WalkDir(group, func(name string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() {
			groups = append(groups, name)
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, name := range slices.Backward(groups) {
		if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
