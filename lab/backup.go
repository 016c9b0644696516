package lab

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/atoll-mcs/atoll/lab/process"
)

// etcdData is a cluster's etcd directory; snapshot is that of a copy.
func (l *Lab) etcdData(cluster string) string { return filepath.Join(l.Dir(cluster), "etcd") }

func (l *Lab) snapshot(cluster, name string) string {
	return filepath.Join(l.Dir(cluster), "snapshots", name)
}

// Snapshot copies the data of the broker's API server, like a backup, and replaces a snapshot of the same name. The API
// server keeps running; etcd pauses during the copy.
func (l *Lab) Snapshot(ctx context.Context, name string) error {
	if !nameRE.MatchString(name) {
		return fmt.Errorf("%w: %q is not the name of a snapshot", ErrUsage, name)
	}
	return l.each(ctx, Broker+"/"+unitEtcd, func(u Unit) error {
		record, err := process.Load(l.recordFile(u))
		if err != nil {
			return fmt.Errorf("taking snapshot %s of %s: the unit is not running: %w", name, u, err)
		}
		into := l.snapshot(u.Cluster, name)
		if err := os.RemoveAll(into); err != nil {
			return fmt.Errorf("removing the old snapshot: %w", err)
		}
		// A paused etcd's files are as after a crash, and etcd can start from them.
		return record.Paused(ctx, func() error { return os.CopyFS(into, os.DirFS(l.etcdData(u.Cluster))) })
	})
}

// Restore resets the broker to a snapshot: later writes and deletions are undone. It returns when the API server is
// ready.
func (l *Lab) Restore(ctx context.Context, name string) error {
	from := l.snapshot(Broker, name)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: the broker has no snapshot %q", ErrUsage, name)
	}
	return l.replaceData(ctx, func(data string) error { return os.CopyFS(data, os.DirFS(from)) })
}

// Wipe replaces the broker with an empty API server at the same address, without a clusterset or accounts. Rejoin lets
// the clusters join a new one.
func (l *Lab) Wipe(ctx context.Context) error {
	return l.replaceData(ctx, func(string) error { return nil })
}

// replaceData restarts the broker with data that write puts into a new folder. It also restarts the controllers, as
// Kubernetes advises after a restore: with the old accounts and versions, the API server would refuse them for some
// seconds.
func (l *Lab) replaceData(ctx context.Context, write func(data string) error) error {
	for _, unit := range []string{unitControllerManager, unitAPIServer, unitEtcd} {
		if err := l.Kill(ctx, Broker+"/"+unit); err != nil {
			return err
		}
	}
	data := l.etcdData(Broker)
	if err := errors.Join(os.RemoveAll(data), write(data)); err != nil {
		return fmt.Errorf("replacing the broker's data: %w", err)
	}
	for _, unit := range []string{unitEtcd, unitAPIServer, unitControllerManager} {
		if err := l.Start(ctx, Broker+"/"+unit); err != nil {
			return err
		}
	}
	return nil
}

// Rejoin creates a clusterset on the broker if there is none, and joins clusters with new join files, like
// administrators after the loss of the broker.
func (l *Lab) Rejoin(ctx context.Context, clusters ...string) error {
	if err := l.installClusterset(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for _, name := range clusters {
		c, err := l.Spec.Cluster(name)
		if err != nil {
			return err
		}
		group.Go(func() error {
			if err := l.join(ctx, c, c.Name); err != nil {
				return fmt.Errorf("in %s: %w", c.Name, err)
			}
			if !l.Spec.ControlPlaneOnly && l.Spec.DNS != DNSStock {
				// atoll leave removes the forward from the cluster's DNS.
				if err := l.forwardDNS(ctx, c); err != nil {
					return fmt.Errorf("in %s: %w", c.Name, err)
				}
			}
			return l.waitMember(ctx, c, c.Name)
		})
	}
	return group.Wait()
}
