package record

import (
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
)

// keepWithdrawn is how long a withdrawn record stays on the broker. Importers act on the state, not on a deletion.
const keepWithdrawn = 10 * time.Minute

// decision is what to do with a record: write it, delete it, or neither.
type decision struct {
	write  *brokerv1alpha1.ExportedService
	remove bool
}

// decide compares a service's record on the broker, or nil, with the cluster's export. expired says that a withdrawn
// record has remained long enough.
func decide(clusterset string, have *brokerv1alpha1.ExportedService, own local.Own, expired bool) decision {
	want := own.Contribution
	switch {
	case want == nil && have == nil:
		return decision{}
	case want == nil && layout.Withdrawn(have):
		return decision{remove: expired}
	case want == nil:
		record := have.DeepCopy()
		layout.Withdraw(record, madeOf(own)...)
		return decision{write: record}
	case have == nil:
		record := layout.Record(clusterset, *want)
		layout.SetRevision(record, 0, madeOf(own)...)
		return decision{write: record}
	case want.ExportedAt.Before(&have.Spec.ExportedAt):
		// The cluster was restored from a backup, and the broker accepts no older revision.
		return decision{remove: true}
	case !layout.Withdrawn(have) && equality.Semantic.DeepEqual(have.Spec, *want):
		return decision{}
	}
	record := have.DeepCopy()
	record.Spec = *want
	record.Labels = layout.Record(clusterset, *want).Labels
	layout.SetWithdrawn(record, false)
	layout.SetRevision(record, layout.Revision(have), madeOf(own)...)
	return decision{write: record}
}

// madeOf returns the objects whose resource versions determine a record's revision.
func madeOf(own local.Own) []metav1.Object {
	var all []metav1.Object
	if own.Export != nil {
		all = append(all, own.Export)
	}
	if own.Service != nil {
		all = append(all, own.Service)
	}
	return all
}
