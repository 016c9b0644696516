package local

import (
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Part is one source cluster's part of one imported service.
type Part struct {
	Service types.NamespacedName
	Cluster names.ClusterID
}

// String writes the part for logs.
func (p Part) String() string { return p.Service.String() + " of " + p.Cluster.String() }
