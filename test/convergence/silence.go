package convergence

import (
	"context"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// decided limits the decision that a cluster is silent or lost: a heartbeat is late after 42 s at most, and two rounds and two
// probes follow. It is less than usual, after which comparisons repair things.
const decided = 2 * time.Minute

// acquainted is when an agent that starts has connected to the members' endpoints, in its role as a leader. One that has not cannot
// find a member silent (docs/adr/0039-silent-clusters.md).
const acquainted = 30 * time.Second

// fallSilent cuts a cluster off from all others, and from the broker or everyone from the broker. Without the broker no cluster is
// ever lost, so all stay silent; with it, the cluster becomes lost after a while. The final state of both is checked, and that
// policies follow then. In the end, everything heals.
func fallSilent(ctx context.Context, w *world, c *cluster) error {
	if w.quiet {
		pause(ctx, acquainted)
	}
	if err := isolate(ctx, w, c); err != nil {
		return err
	}
	if all := w.random.IntN(2) == 0; all {
		w.note("the broker is away for everyone")
		for _, c := range w.clusters {
			c.broker.stop()
		}
	}
	if !w.quiet {
		return nil
	}
	if err := w.settle(ctx, decided); err != nil {
		return err
	}
	for range 3 {
		of := w.someCluster()
		a := forImport(w.someExported(of))
		if w.random.IntN(4) == 0 {
			a = byDefault
		} else if !of.users.namespaces[a.service.Namespace] {
			continue
		}
		if err := w.change(ctx, of, a); err != nil {
			return err
		}
		if err := w.settle(ctx, soon); err != nil {
			return err
		}
	}
	w.note("%s is heard again", c.id)
	for _, c := range w.clusters {
		c.broker.heal()
		c.isolated = false
	}
	return w.await(ctx, limit)
}

// silent reports whether a cluster must take another one for silent: it gets neither heartbeats nor answers.
func (w *world) silent(c, of *cluster) bool {
	return w.unreachable(c.number, of.number) && (c.broker.isCut() || of.broker.isCut())
}

// lost reports whether a cluster must take another one for lost: it also knows that its own way to the broker works.
func (w *world) lost(c, of *cluster) bool { return w.silent(c, of) && !c.broker.isCut() }

// lostKeys returns the expected keys of a cluster's ConfigMap of lost and silent clusters.
func (w *world) lostKeys(c *cluster) map[string]bool {
	keys := map[string]bool{}
	for _, of := range w.clusters {
		if w.silent(c, of) {
			keys[names.LostSilent+of.id.String()] = true
		}
		if w.lost(c, of) {
			keys[of.id.String()] = true
		}
	}
	return keys
}

func keysOf(data map[string]string) map[string]bool {
	keys := map[string]bool{}
	for key := range data {
		keys[key] = true
	}
	return keys
}

// slicesOf returns the slices of an export that are imported: none of a lost cluster, unless the export's users keep them.
func (v viewpoint) slicesOf(w *world, e merge.Export) []*discoveryv1.EndpointSlice {
	if v.lost[e.ClusterID] && e.OnClusterLoss != names.OnLossKeep {
		return nil
	}
	all := w.cluster(e.ClusterID).addresses(keyOf(v.imp))
	return slices.DeleteFunc(all, func(s *discoveryv1.EndpointSlice) bool { return s.AddressType != discoveryv1.AddressTypeIPv4 })
}

// findSilent fills in which exporting clusters are silent or lost.
func (v *viewpoint) findSilent(w *world) {
	v.silent, v.lost = map[string]bool{}, map[string]bool{}
	for _, e := range v.exports {
		of := w.cluster(e.ClusterID)
		if w.silent(v.cluster, of) {
			v.silent[e.ClusterID] = true
		}
		if w.lost(v.cluster, of) {
			v.lost[e.ClusterID] = true
		}
	}
}
