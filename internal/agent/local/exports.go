package local

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// Exported is what is exported of a service, as far as it has to do with this cluster.
type Exported struct {
	// Imported is what this cluster imports: nothing where the namespace does not exist, nor where
	// the hub says that other clusters import the service and this one does not.
	Imported []merge.Export
	// LeftOut are the other clusters that export it, and whose exports are refused here.
	LeftOut []LeftOut
	// Awaited are the clusters of which it is not known what they export: nothing of the import is changed because of that.
	Awaited []names.ClusterID
	// Rules say of which clusters they are.
	Rules refusal.Rules
	// Own is what the cluster itself has to do with the service.
	Own Own
}

// LeftOut is a cluster whose export is not imported, and why.
type LeftOut struct {
	Cluster string
	Reason  refusal.Reason
}

// Accepted returns those of other clusters, or of this one, that are not refused.
func (e Exported) Accepted(self names.ClusterID, clusters []mcsv1beta1.ClusterStatus) []mcsv1beta1.ClusterStatus {
	return slices.DeleteFunc(slices.Clone(clusters), func(c mcsv1beta1.ClusterStatus) bool {
		return c.Cluster != self.String() && e.Rules.Reason(names.ClusterID(c.Cluster)) != ""
	})
}

// Exports reads what is exported of a service: by this cluster, from its own objects, and by
// others, of which constituents returns all, this one's contribution included.
func Exports(ctx context.Context, r client.Reader, self Cluster, service types.NamespacedName,
	constituents func(types.NamespacedName, *merge.Export) []merge.Export,
) (Exported, error) {
	if exists, err := hasNamespace(ctx, r, service.Namespace); err != nil || !exists {
		return Exported{}, err
	}
	own, err := Gather(ctx, r, self, service)
	if err != nil {
		return Exported{}, err
	}
	exported := Exported{Own: own}
	if exported.Rules, err = Refusals(ctx, r, self, service.Namespace); err != nil {
		return Exported{}, err
	}
	if !self.policy(service).Consumes(self.ID.String()) {
		return exported, nil
	}
	for _, e := range constituents(service, own.Contribution) {
		if !e.Consumes(self.ID.String()) {
			continue
		}
		if e.ClusterID == self.ID.String() {
			exported.Imported = append(exported.Imported, e)
		} else if reason := exported.Rules.Reason(names.ClusterID(e.ClusterID)); reason != "" {
			exported.LeftOut = append(exported.LeftOut, LeftOut{e.ClusterID, reason})
		} else {
			exported.Imported = append(exported.Imported, e)
		}
	}
	return exported, nil
}

// Weighing returns those of a service's exports that can be in conflict with the cluster's own: all, for all clusters say the same of
// conflicts, whatever one of them refuses to import; but none of others from a namespace that is closed to them, where the
// name means another thing in each cluster.
func Weighing(ctx context.Context, r client.Reader, self Cluster, service types.NamespacedName, exports []merge.Export) ([]merge.Export, error) {
	rules, err := Refusals(ctx, r, self, service.Namespace)
	if err != nil || !rules.Closed {
		return exports, err
	}
	return slices.DeleteFunc(slices.Clone(exports), func(e merge.Export) bool { return e.ClusterID != self.ID.String() }), nil
}
