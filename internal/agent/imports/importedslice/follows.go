package importedslice

import (
	"context"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// FollowsDrains returns the digests of the drains that all imported slices follow, by the drained cluster. own are the revisions of this
// cluster's drained records on the broker.
func (r *Reconciler) FollowsDrains(ctx context.Context, own map[types.NamespacedName]int64) (map[names.ClusterID]string, error) {
	revisions := map[names.ClusterID]map[types.NamespacedName]int64{}
	for record, revision := range r.Cluster.View.Drained() {
		if revisions[record.Member] == nil {
			revisions[record.Member] = map[types.NamespacedName]int64{}
		}
		revisions[record.Member][record.Service] = revision
	}
	if len(own) > 0 {
		revisions[r.Cluster.ID] = own
	}
	permitted := r.Cluster.View.Permissions()
	for id := range permitted {
		if permitted.Drains(id) && revisions[id] == nil {
			revisions[id] = nil
		}
	}
	digests := map[names.ClusterID]string{}
	for id, drained := range revisions {
		services := map[types.NamespacedName]bool{}
		for service := range drained {
			services[service] = true
		}
		if permitted.Drains(id) {
			all, err := r.Cluster.ImportedFrom(ctx, id)
			if err != nil {
				return nil, fmt.Errorf("reading the imported EndpointSlices of cluster %s: %w", id, err)
			}
			for _, slice := range all {
				services[inputs.ImportService(slice)] = true
			}
		}
		follows, err := r.follow(ctx, id, services)
		if err != nil {
			return nil, err
		}
		if follows {
			digests[id] = drain.Digest(permitted.Drains(id), drained)
		}
	}
	return digests, nil
}

// follow reports whether the imported slices of drained services of a cluster have the endpoints on standby that can be.
func (r *Reconciler) follow(ctx context.Context, id names.ClusterID, services map[types.NamespacedName]bool) (bool, error) {
	for service := range services {
		imported, err := r.Cluster.Imported(ctx, service)
		if err != nil {
			return false, fmt.Errorf("reading the imported EndpointSlices of %s: %w", service, err)
		}
		ready := slices.DeleteFunc(imported, func(s *discoveryv1.EndpointSlice) bool { return layout.Cluster(s) != id || len(readyOf(s)) == 0 })
		if len(ready) > 0 && !r.roles.of(service, false).drains(id, ready) {
			return false, nil
		}
	}
	return true, nil
}

// drains reports whether the decision takes into account that a cluster is drained, and leaves the ready endpoints of its slices in
// use, because no other cluster can serve them.
func (s *roleSet) drains(id names.ClusterID, ready []*discoveryv1.EndpointSlice) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.input.Clusters, func(c choice.Cluster) bool { return c.ID == id && c.Drained }) {
		return false
	}
	return !slices.ContainsFunc(ready, func(have *discoveryv1.EndpointSlice) bool {
		want := readyOf(s.wanted[sources(have)[0]])
		return slices.ContainsFunc(readyOf(have), func(address string) bool { return !slices.Contains(want, address) })
	})
}

// readyOf returns the addresses of a slice's ready endpoints.
func readyOf(slice *discoveryv1.EndpointSlice) (addresses []string) {
	if slice == nil {
		return nil
	}
	for i := range slice.Endpoints {
		if e := &slice.Endpoints[i]; ptr.Deref(e.Conditions.Ready, true) {
			addresses = append(addresses, e.Addresses[0])
		}
	}
	return addresses
}
