package local

import (
	"slices"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// Exported are the exports of a service, as far as they concern this cluster.
type Exported struct {
	// Imported are the exports that this cluster imports. They are empty if the namespace does not exist, or if the hub
	// excludes this cluster from the service's importers.
	Imported []merge.Export
	// Revisions are the revisions of the records of Imported that are other clusters'.
	Revisions map[names.ClusterID]int64
	// LeftOut are the other exporters whose exports this cluster refuses.
	LeftOut []LeftOut
	// Awaited are the clusters whose exports are unknown; the import does not change because of them.
	Awaited []names.ClusterID
	// Rules decide which clusters are refused.
	Rules refusal.Rules
	Own   Own
}

// LeftOut is a cluster whose export is refused, and the reason.
type LeftOut struct {
	Cluster string
	Reason  refusal.Reason
}

// Accepted returns the given clusters without the refused ones.
func (e Exported) Accepted(self names.ClusterID, clusters []mcsv1beta1.ClusterStatus) []mcsv1beta1.ClusterStatus {
	return slices.DeleteFunc(slices.Clone(clusters), func(c mcsv1beta1.ClusterStatus) bool {
		return c.Cluster != self.String() && e.Rules.Reason(names.ClusterID(c.Cluster)) != ""
	})
}
