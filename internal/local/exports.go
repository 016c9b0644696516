package local

import (
	"context"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/names"
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
	if exists, err := hasNamespace(ctx, r, service.Namespace); err != nil || !exists {
		return Exported{}, err
	}
	own, err := Gather(ctx, r, self, service)
	if err != nil {
		return Exported{}, err
	}
	if !self.policy(service).Consumes(self.ID.String()) {
		return Exported{Own: own}, nil
	}
	exported := Exported{Own: own}
	exported.Imported, exported.LeftOut, err = Weighing(ctx, r, self.ID, service, constituents(service, own.Contribution))
	return exported, err
}

// Weighing tells apart those of a service's exports that mean anything to the cluster self, and
// those of others that it leaves out, because they are from a namespace that is closed to them:
// there the name means another thing in each cluster, so that they neither are imported nor can
// be in conflict with what the cluster exports itself.
func Weighing(ctx context.Context, r client.Reader, self names.ClusterID, service types.NamespacedName, exports []merge.Export) (weigh, leftOut []merge.Export, err error) {
	closed, err := Closed(ctx, r, service.Namespace)
	if err != nil || !closed {
		return exports, nil, err
	}
	for _, e := range exports {
		if e.ClusterID == self.String() {
			weigh = append(weigh, e)
		} else {
			leftOut = append(leftOut, e)
		}
	}
	return weigh, leftOut, nil
}
