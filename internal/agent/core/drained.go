package core

import (
	"maps"
	"sync"

	"k8s.io/apimachinery/pkg/types"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// drained holds the revisions of this cluster's drained records, as the broker has them.
type drained struct {
	mu        sync.Mutex
	revisions map[types.NamespacedName]int64
}

func (d *drained) clear() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.revisions = map[types.NamespacedName]int64{}
}

func (d *drained) note(e kit.Event[*brokerv1alpha1.ExportedService], self names.ClusterID) {
	record := e.Latest()
	if record.Spec.ClusterID != self.String() {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if delete(d.revisions, record.Spec.Service()); record.Spec.Drained && !e.Deleted() && !layout.Withdrawn(record) {
		d.revisions[record.Spec.Service()] = layout.Revision(record)
	}
}

func (d *drained) all() map[types.NamespacedName]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return maps.Clone(d.revisions)
}
