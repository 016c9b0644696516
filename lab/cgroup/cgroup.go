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

const root = "/sys/fs/cgroup"

// hierarchies are the mounted control group hierarchies: one for version 2; one or more for version 1, each for one or
// more controllers, possibly next to one for version 2.
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
		return nil, fmt.Errorf("%s contains no control groups: mount control groups there, as cgroup2 or one mount for each controller", root)
	}
	return all, nil
}

// Prepare enables the controllers that pods need. The error says why control groups are unavailable.
func Prepare() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		if err := unix.Access(hierarchy, unix.W_OK); err != nil {
			return fmt.Errorf("pods need control groups, but the lab cannot create control groups in %s (%w): mount the directory so that it is writable, as in a privileged container", hierarchy, err)
		}
		if err := enableControllers(hierarchy); err != nil {
			return err
		}
	}
	return nil
}

// Make creates a control group in all hierarchies, by its path from their roots. It may already exist.
func Make(path string) error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, hierarchy := range all {
		group := filepath.Join(hierarchy, path)
		if err := os.Mkdir(group, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return fmt.Errorf("creating the control group for pods: %w", err)
		}
		// By default, all pods of a node share the CPU weight of a single other process of labs. Pods without CPU
		// requests would get almost none, and a request would take seconds.
		for file, weight := range map[string]string{"cpu.shares": "8192", "cpu.weight": "800"} {
			if _, err := os.Stat(filepath.Join(group, file)); err != nil {
				continue
			}
			if err := os.WriteFile(filepath.Join(group, file), []byte(weight), 0o644); err != nil {
				return fmt.Errorf("preparing the control group for pods: %w", err)
			}
		}
		// In version 1, a group without CPUs accepts no process.
		for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
			if err := inherit(hierarchy, group, file); err != nil {
				return err
			}
		}
	}
	return nil
}

// controllers are those that kubelets need for pods, if available.
var controllers = []string{"cpu", "cpuset", "memory", "hugetlb", "pids"}

// enableControllers enables the controllers for child groups of a version 2 hierarchy. Version 1 needs nothing.
func enableControllers(hierarchy string) error {
	there, err := os.ReadFile(filepath.Join(hierarchy, "cgroup.controllers"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the controllers of control groups: %w", err)
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
	if errors.Is(err, unix.EBUSY) { // in a container, whose root group has processes
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
		return fmt.Errorf("preparing the control group for pods: %w", err)
	}
	return nil
}

// Remove deletes a control group and its children from all hierarchies. It waits for killed processes to end.
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
