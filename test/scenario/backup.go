package scenario

import (
	"context"
)

// backupVerbs take the broker's data away, and back.
func backupVerbs() []Verb {
	return []Verb{
		{
			Name: "snapshot", Args: "NAME", Min: 1, Max: 1, Always: true,
			Summary: "keeps a copy of all that the broker stores, as a backup would",
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.lab.Snapshot(ctx, args[0]) },
		},
		{
			Name: "restore", Args: "NAME", Min: 1, Max: 1, Always: true,
			Summary: "puts the broker back to a snapshot, and returns when its API server is ready",
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.lab.Restore(ctx, args[0]) },
		},
		{
			Name: "wipe", Args: "", Min: 0, Max: 0, Always: true,
			Summary: "takes everything from the broker: a new API server is at its address then, without a clusterset and without accounts; `rejoin` is done after the scenario anyway",
			Run: func(ctx context.Context, r *Run, _ []string) error {
				if !r.lab.Shape().Bare {
					for _, cluster := range r.lab.Shape().names() {
						r.expelled[cluster] = true
					}
				}
				return r.lab.Wipe(ctx)
			},
		},
		{
			Name: "rejoin", Args: "CLUSTERS", Min: 1, Max: 1, Always: true,
			Summary: "makes a clusterset on the broker where there is none, and has clusters join it with new join files",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkClusters(args[0], false) },
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.rejoin(ctx, r.clusters(args[0])) },
		},
		{
			Name: "rename", Args: "CLUSTER ID", Min: 2, Max: 2, Always: true,
			Summary: "has a cluster leave the clusterset, and join it under another id; it has its own again after the scenario",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkClusters(args[0], false) },
			Run: func(ctx context.Context, r *Run, args []string) error {
				r.renamed[args[0]] = true
				return r.lab.Rename(ctx, args[0], args[1])
			},
		},
	}
}

func (r *Run) rejoin(ctx context.Context, clusters []string) error {
	if err := r.lab.Rejoin(ctx, clusters...); err != nil {
		return err
	}
	for _, cluster := range clusters {
		delete(r.expelled, cluster)
	}
	return nil
}
