// Package layout defines how a clusterset's objects are stored on the broker: names, labels, revisions and
// indexes.
package layout

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
)

// Indexes of a cluster's own objects in its cache of the broker.
const (
	// ByCluster finds records and slices, by the cluster's id.
	ByCluster = "cluster"
	// ByService finds slices, by their service.
	ByService = "service"
)

// Labels are the labels of a record or a slice.
func Labels(cluster names.ClusterID, service types.NamespacedName) map[string]string {
	return map[string]string{
		names.LabelSourceCluster:    cluster.String(),
		names.LabelServiceNamespace: service.Namespace,
		names.LabelServiceName:      service.Name,
	}
}

// Record returns a new record.
func Record(clusterset string, spec brokerv1alpha1.ExportedServiceSpec) *brokerv1alpha1.ExportedService {
	cluster := names.ClusterID(spec.ClusterID)
	return &brokerv1alpha1.ExportedService{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: clusterset, Name: names.Export(cluster, spec.ServiceNamespace, spec.ServiceName), Labels: Labels(cluster, spec.Service()),
		},
		Spec: spec,
	}
}

// Service returns the service of a slice on the broker, by its labels.
func Service(slice metav1.Object) types.NamespacedName {
	labels := slice.GetLabels()
	return types.NamespacedName{Namespace: labels[names.LabelServiceNamespace], Name: labels[names.LabelServiceName]}
}

// Cluster returns the source cluster of an object with Atoll's labels, "" for a label that is no cluster id.
func Cluster(object metav1.Object) names.ClusterID {
	id, err := names.ParseClusterID(object.GetLabels()[names.LabelSourceCluster])
	if err != nil {
		return ""
	}
	return id
}

// Source returns the name of a slice's EndpointSlice in its own cluster.
func Source(slice metav1.Object) string { return slice.GetAnnotations()[names.AnnotationSourceSlice] }

// StandbyReasons returns why endpoints of an imported slice are on standby.
func StandbyReasons(slice metav1.Object) (reasons []string) {
	if reason := slice.GetLabels()[names.LabelStandby]; reason != "" {
		return []string{reason}
	}
	if counts := slice.GetAnnotations()[names.LabelStandby]; counts != "" {
		for count := range strings.SplitSeq(counts, ",") {
			reason, _, _ := strings.Cut(count, "=")
			reasons = append(reasons, reason)
		}
	}
	return reasons
}

// HasImportedName reports whether an imported slice has a name that Atoll gives to the import of its source. Others are copies
// that somebody made.
func HasImportedName(slice metav1.Object) bool {
	usual := names.ImportedPorts(Cluster(slice), Source(slice), slice.GetAnnotations()[names.AnnotationPorts])
	return slice.GetName() == usual || slice.GetName() == names.OtherImportedSlice(usual)
}

// Withdrawn reports whether an object's owner has ended it (docs/explanation/protocol.md, rule 1).
func Withdrawn(object metav1.Object) bool {
	return object.GetAnnotations()[names.AnnotationState] == names.StateWithdrawn
}

// SetWithdrawn marks an object as ended by its owner, or as not ended.
func SetWithdrawn(object metav1.Object, withdrawn bool) {
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	if delete(annotations, names.AnnotationState); withdrawn {
		annotations[names.AnnotationState] = names.StateWithdrawn
	}
	object.SetAnnotations(annotations)
}

// SetRevision sets an object's revision: the highest resource version in madeOf, or last+1 if that is higher. last is
// the revision on the broker. No clock is involved.
func SetRevision(object metav1.Object, last int64, madeOf ...metav1.Object) {
	next := last + 1
	for _, o := range madeOf {
		version, err := strconv.ParseInt(o.GetResourceVersion(), 10, 64)
		if err == nil {
			next = max(next, version)
		}
	}
	annotations := maps.Clone(object.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationRevision] = strconv.FormatInt(next, 10)
	object.SetAnnotations(annotations)
}

// Withdraw marks an object on the broker as ended, at its next revision (see SetRevision).
func Withdraw(object metav1.Object, madeOf ...metav1.Object) {
	SetWithdrawn(object, true)
	SetRevision(object, Revision(object), madeOf...)
}

// Counter returns the count of comparisons in a member's Lease, or 0 (docs/explanation/protocol.md, rule 3).
func Counter(lease *coordinationv1.Lease) belief.Counter {
	count, err := strconv.ParseInt(lease.Annotations[names.AnnotationCompared], 10, 64)
	if err != nil || count < 0 {
		count = 0
	}
	_, refused := lease.Annotations[names.AnnotationBrokerRefuses]
	return belief.Counter{Lease: lease.UID, Count: count, Refused: refused}
}

// Counters returns the Leases' counters by member.
func Counters(leases []coordinationv1.Lease) map[names.ClusterID]belief.Counter {
	all := make(map[names.ClusterID]belief.Counter, len(leases))
	for i := range leases {
		if id := LeaseOwner(&leases[i]); id != "" {
			all[id] = Counter(&leases[i])
		}
	}
	return all
}

// LeaseOwner returns the cluster whose heartbeat a Lease is, or the hub. It returns "" for a Lease whose name is no cluster id, or
// whose label names another cluster.
func LeaseOwner(lease *coordinationv1.Lease) names.ClusterID {
	if lease.Name == names.HubOwner.String() {
		return names.HubOwner
	}
	if id := Cluster(lease); id.String() == lease.Name {
		return id
	}
	return ""
}

// Mark is how far a broker's history has come, by a Lease that its owner writes often.
type Mark struct {
	version int64
	counter belief.Counter
}

// MarkOf returns the mark of a Lease, the zero Mark if it does not exist.
func MarkOf(lease *coordinationv1.Lease) Mark {
	version, _ := strconv.ParseInt(lease.ResourceVersion, 10, 64)
	return Mark{version, Counter(lease)}
}

// IsReached reports whether a later read shows a broker with the same history: else it was wiped, or restored to an earlier
// state. The zero Mark is always reached.
func (m Mark) IsReached(now Mark) bool {
	return m.counter.Lease == "" || m.counter.Stands(now.counter) && m.version <= now.version
}

// SetCount sets a Lease's count of comparisons, and whether the broker refuses some of the member's objects.
func SetCount(lease *coordinationv1.Lease, count int64, refused bool) {
	if lease.Annotations == nil {
		lease.Annotations = map[string]string{}
	}
	lease.Annotations[names.AnnotationCompared] = strconv.FormatInt(count, 10)
	if delete(lease.Annotations, names.AnnotationBrokerRefuses); refused {
		lease.Annotations[names.AnnotationBrokerRefuses] = "true"
	}
}

// Revision returns an object's revision, or 0 if it is missing or invalid.
func Revision(object metav1.Object) int64 { return revision.Of(object) }

// Applied returns the revisions of other clusters' records that a ServiceImport was made of.
func Applied(imp metav1.Object) map[names.ClusterID]int64 {
	all := map[names.ClusterID]int64{}
	for of := range strings.SplitSeq(imp.GetAnnotations()[names.AnnotationApplied], ",") {
		id, text, _ := strings.Cut(of, "=")
		if revision, err := strconv.ParseInt(text, 10, 64); err == nil && revision > 0 {
			all[names.ClusterID(id)] = revision
		}
	}
	return all
}

// Index adds the indexes of a cluster's own objects to its cache of the broker.
func Index(ctx context.Context, to client.FieldIndexer, self names.ClusterID) error {
	for _, index := range []struct {
		of   client.Object
		name string
		key  func(client.Object) (owner, key string)
	}{
		{&brokerv1alpha1.ExportedService{}, ByCluster, func(o client.Object) (owner, key string) {
			id := o.(*brokerv1alpha1.ExportedService).Spec.ClusterID
			return id, id
		}},
		{&discoveryv1.EndpointSlice{}, ByCluster, func(o client.Object) (owner, key string) { return Cluster(o).String(), Cluster(o).String() }},
		{&discoveryv1.EndpointSlice{}, ByService, func(o client.Object) (owner, key string) { return Cluster(o).String(), Service(o).String() }},
	} {
		err := to.IndexField(ctx, index.of, index.name, func(o client.Object) []string {
			if owner, key := index.key(o); owner == self.String() {
				return []string{key}
			}
			return nil
		})
		if err != nil {
			return fmt.Errorf("indexing %T by %s: %w", index.of, index.name, err)
		}
	}
	return nil
}
