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

// etcdData is the folder of a cluster's etcd, snapshot that of a copy of it.
func (l *Lab) etcdData(cluster string) string { return filepath.Join(l.Dir(cluster), "etcd") }

func (l *Lab) snapshot(cluster, name string) string {
	return filepath.Join(l.Dir(cluster), "snapshots", name)
}

// Snapshot keeps a copy of all that the broker's API server stores, as a backup would. One of
// the same name is replaced. The API server goes on; etcd is held up for as long as copying takes.
func (l *Lab) Snapshot(ctx context.Context, name string) error {
	if !nameRE.MatchString(name) {
		return fmt.Errorf("%w: %q is not the name of a snapshot", ErrUsage, name)
	}
	return l.each(ctx, Broker+"/"+unitEtcd, func(u Unit) error {
		record, err := process.Load(l.recordFile(u))
		if err != nil {
			return fmt.Errorf("taking snapshot %s of %s, which does not run: %w", name, u, err)
		}
		into := l.snapshot(u.Cluster, name)
		if err := os.RemoveAll(into); err != nil {
			return fmt.Errorf("removing the old snapshot: %w", err)
		}
		// What etcd has written when it stands still is what a crash would leave, out of which it
		// starts again.
		return record.Paused(ctx, func() error { return os.CopyFS(into, os.DirFS(l.etcdData(u.Cluster))) })
	})
}

// Restore puts the broker back to a snapshot: everything that was written since is gone, and
// what was deleted since is there again. It returns when the API server is ready.
func (l *Lab) Restore(ctx context.Context, name string) error {
	from := l.snapshot(Broker, name)
	if _, err := os.Stat(from); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: there is no snapshot %q of the broker", ErrUsage, name)
	}
	return l.replaceData(ctx, func(data string) error { return os.CopyFS(data, os.DirFS(from)) })
}

// Wipe takes everything from the broker: it is a new API server at the old address then, with
// no clusterset and no accounts. Rejoin has the clusters be members of a new one.
func (l *Lab) Wipe(ctx context.Context) error {
	return l.replaceData(ctx, func(string) error { return nil })
}

// replaceData starts the broker on other data, which write puts into a folder that is not there. Its controllers are
// started anew too, as Kubernetes advises after a restore: theirs are accounts and versions of the old data, with which
// they are refused for some seconds.
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

// Rejoin makes a clusterset on the broker where there is none, and has clusters join it with
// new join files, as their administrators would after the broker was lost.
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
			return l.waitMember(ctx, c, c.Name)
		})
	}
	return group.Wait()
}
