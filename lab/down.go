package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-mcs/atoll/lab/cgroup"
	"github.com/atoll-mcs/atoll/lab/internal/mountinfo"
	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/lab/process"
)

// Down stops a lab in any state, and removes everything that it created, and nothing else. It returns ErrNoLab if there
// is nothing.
func Down(ctx context.Context, name string) error {
	dir, err := labFolder(name)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, name, time.Minute)
	if err != nil {
		return err
	}
	defer unlock()
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %q", ErrNoLab, name)
	}
	if err := remove(ctx, name); err != nil {
		return fmt.Errorf("removing lab %s: %w", name, err)
	}
	return nil
}

// Down calls the function Down for this lab.
func (l *Lab) Down(ctx context.Context) error { return Down(ctx, l.Name()) }

// remove ends what a lab has recorded, and removes its folder. The caller holds the lock.
func remove(ctx context.Context, name string) error {
	dir, err := labFolder(name)
	if err != nil {
		return err
	}
	spec, err := readSpec(dir)
	if err == nil {
		err = (&Lab{Spec: spec, dir: dir}).stop(ctx)
	} else if errors.Is(err, fs.ErrNotExist) {
		err = nil // nothing is created before lab.json exists
	}
	if err != nil {
		return err
	}
	return removeFolder(dir)
}

// stop ends all processes of the lab and removes its network. It keeps the files.
func (l *Lab) stop(ctx context.Context) error {
	if err := l.killRecorded(ctx); err != nil {
		return err
	}
	namespaces, err := l.ownNamespaces()
	if err != nil {
		return err
	}
	// Pods' processes have no record: find them by their namespaces.
	if err := process.KillIn(ctx, namespaces); err != nil {
		return err
	}
	for _, n := range namespaces {
		if err := n.Delete(); err != nil {
			return err
		}
	}
	for _, c := range l.Spec.Clusters {
		for i := range c.Nodes {
			if err := cgroup.Remove(ctx, l.cgroupRoot(&c.Nodes[i])); err != nil {
				return err
			}
		}
	}
	if !l.Spec.ControlPlaneOnly {
		if err := l.removeTraces(); err != nil {
			return err
		}
	}
	return mountinfo.UnmountBelow(l.dir)
}

// killRecorded ends every recorded process, even if its unit's file is missing or damaged.
func (l *Lab) killRecorded(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	for _, cluster := range l.folders() {
		paths, err := filepath.Glob(filepath.Join(l.Dir(cluster), "units", "*.pid"))
		if err != nil {
			return fmt.Errorf("listing processes: %w", err)
		}
		for _, path := range paths {
			group.Go(func() error {
				record, err := process.Load(path)
				if err != nil {
					return err
				}
				return record.Stop(ctx, 0)
			})
		}
	}
	return group.Wait()
}

// ownNamespaces are the namespaces of the lab and its pods.
func (l *Lab) ownNamespaces() ([]network.Namespace, error) {
	if l.Spec.ControlPlaneOnly {
		return nil, nil
	}
	all, err := network.List()
	if err != nil {
		return nil, err
	}
	recorded := l.Spec.namespaces()
	all = slices.DeleteFunc(all, func(n network.Namespace) bool { return !slices.Contains(recorded, n) })
	// Pods' namespaces, created by containerd.
	pods, err := filepath.Glob(filepath.Join(l.dir, "*", "nodes", "*", "containerd", "state", "io.containerd.grpc.v1.cri", "netns", "*"))
	if err != nil {
		return nil, fmt.Errorf("listing the network namespaces of pods: %w", err)
	}
	for _, path := range pods {
		all = append(all, network.Namespace(path))
	}
	return all, nil
}

// removeFolder removes a folder, but not the contents of mounts in it.
func removeFolder(dir string) error {
	if err := mountinfo.UnmountBelow(dir); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("removing the lab's directory: %w", err)
	}
	return nil
}
