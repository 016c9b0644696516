package local

import (
	"slices"

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
