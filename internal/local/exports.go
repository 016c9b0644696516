package local

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/merge"
)

// Exported is what is exported of a service, as far as it has to do with this cluster.
type Exported struct {
	// Imported is what this cluster imports: nothing where the namespace does not exist, nor where
	// the hub says that other clusters import the service and this one does not.
	Imported []merge.Export
	// LeftOut is what other clusters export from a namespace that is closed to it.
	LeftOut []merge.Export
	// Own is what the cluster itself has to do with the service.
	Own Own
}

// Exports reads what is exported of a service: by this cluster, from its own objects, and by
// others, of which constituents returns all, this one's contribution included.
func Exports(ctx context.Context, r client.Reader, self Cluster, service types.NamespacedName,
	constituents func(types.NamespacedName, *merge.Export) []merge.Export,
) (Exported, error) {
	if exists, err := HasNamespace(ctx, r, service.Namespace); err != nil || !exists {
		return Exported{}, err
	}
	own, err := Gather(ctx, r, self, service)
	if err != nil {
		return Exported{}, err
	}
	if !self.policy(service).Consumes(self.ID.String()) {
		return Exported{Own: own}, nil
	}
	closed, err := Closed(ctx, r, service.Namespace)
	if err != nil {
		return Exported{}, err
	}
	exported := Exported{Own: own, Imported: constituents(service, own.Contribution)}
	if closed {
		others := func(e merge.Export) bool { return e.ClusterID != self.ID.String() }
		for _, e := range exported.Imported {
			if others(e) {
				exported.LeftOut = append(exported.LeftOut, e)
			}
		}
		exported.Imported = slices.DeleteFunc(exported.Imported, others)
	}
	return exported, nil
}
