package serviceimport

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// decision is a write of a ServiceImport: at most one of create, update and remove.
type decision struct {
	create, update *mcsv1beta1.ServiceImport
	remove         bool
	by             string // the cluster whose record creates or changes it; "" for a removal, which does not wait
}

// decide returns the write that makes a service's ServiceImport what its exports merge to. have is empty if there is none.
// While exports are unknown, nothing is removed.
func decide(have *mcsv1beta1.ServiceImport, service types.NamespacedName, exported local.Exported, network local.ServiceNetwork, services map[bool]*corev1.Service) decision {
	if len(exported.Imported) == 0 {
		return decision{remove: have.UID != "" && len(exported.Awaited) == 0}
	}
	want := imported.Merged(have, service, exported, network, services)
	want.Annotations[names.AnnotationApplied] = applied(exported, layout.Applied(have))
	if have.UID == "" || len(exported.Awaited) == 0 || !ownership.IsEdited(have) { // else the edit is still part of it
		ownership.MarkWritten(want)
	}
	if have.UID == "" {
		return decision{create: want, by: onlyOf(exported.Revisions)}
	}
	d := decision{by: changedBy(layout.Applied(have), layout.Applied(want))}
	if !equality.Semantic.DeepEqual(have.Spec, want.Spec) || !equality.Semantic.DeepEqual(have.Labels, want.Labels) ||
		!equality.Semantic.DeepEqual(have.Annotations, want.Annotations) {
		d.update = have.DeepCopy()
		d.update.Labels, d.update.Annotations, d.update.Spec = want.Labels, want.Annotations, want.Spec
	}
	return d
}

// onlyOf returns the only cluster, or "": what several export does not wait for one of them.
func onlyOf(revisions map[names.ClusterID]int64) (only string) {
	for id := range revisions {
		if only = id.String(); len(revisions) > 1 {
			return ""
		}
	}
	return only
}

// changedBy returns a cluster whose record has a new revision, or "". Removals do not wait, so it is "" for them.
func changedBy(was, is map[names.ClusterID]int64) (by string) {
	for id, revision := range was {
		switch now, there := is[id]; {
		case !there:
			return ""
		case now != revision:
			by = id.String()
		}
	}
	return by
}

// applied formats the revisions of the merged exports. Of awaited clusters, the last ones stay.
func applied(exported local.Exported, last map[names.ClusterID]int64) string {
	revisions := maps.Clone(exported.Revisions)
	for _, id := range exported.Awaited {
		revisions[id] = last[id]
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(revisions)) {
		all = append(all, fmt.Sprintf("%s=%d", id, revisions[id]))
	}
	return strings.Join(all, ",")
}
