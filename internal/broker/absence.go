package broker

import (
	"strconv"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// What is remembered of each member is bounded, for one can withdraw or lose what it has just made for ever. It matters
// while there are doubts about the member, and what is forgotten then stays imported as it is until they are over.
const (
	// maxWithdrawn is how many exports are remembered to have been withdrawn.
	maxWithdrawn = 4096
	// maxKept is how many records are kept that are missing: as many as are imported from one member, if
	// nothing else was chosen.
	maxKept = 10_000
)

// Withdrawn tells whether a member has said that a record of its own is about to go. Others do
// not see it any more.
func Withdrawn(record client.Object) bool {
	return record.GetAnnotations()[names.AnnotationWithdrawn] != ""
}

// export is what a record is about.
type export struct {
	service types.NamespacedName
	cluster names.ClusterID
}

func exportOf(e *brokerv1alpha1.ExportedService) export {
	return export{e.Spec.Service(), names.ClusterID(e.Spec.ClusterID)}
}

// absence is what is known of others' records that the broker does not have.
type absence struct {
	// withdrawn are those of which their members have said so.
	withdrawn map[names.ClusterID]map[types.NamespacedName]bool
	// kept are those of which they have not, as they were, as long as there are doubts; and how many of each member.
	kept map[types.NamespacedName]map[names.ClusterID]*brokerv1alpha1.ExportedService
	many map[names.ClusterID]int
}

func newAbsence() absence {
	return absence{
		withdrawn: map[names.ClusterID]map[types.NamespacedName]bool{},
		kept:      map[types.NamespacedName]map[names.ClusterID]*brokerv1alpha1.ExportedService{},
		many:      map[names.ClusterID]int{},
	}
}

func (a absence) keep(about export, record *brokerv1alpha1.ExportedService) {
	if a.drop(about); a.many[about.cluster] >= maxKept {
		return
	}
	if a.kept[about.service] == nil {
		a.kept[about.service] = map[names.ClusterID]*brokerv1alpha1.ExportedService{}
	}
	a.kept[about.service][about.cluster] = record
	a.many[about.cluster]++
}

// drop tells whether a record was kept, which it is not any more.
func (a absence) drop(about export) bool {
	of := a.kept[about.service]
	_, kept := of[about.cluster]
	if !kept {
		return false
	}
	if delete(of, about.cluster); len(of) == 0 {
		delete(a.kept, about.service)
	}
	if a.many[about.cluster]--; a.many[about.cluster] == 0 {
		delete(a.many, about.cluster)
	}
	return true
}

// dropAll drops the records of which their member is to be dropped, and returns what they were about.
func (a absence) dropAll(of func(names.ClusterID) bool) []export {
	var dropped []export
	for service, clusters := range a.kept {
		for cluster := range clusters {
			if about := (export{service, cluster}); of(cluster) && a.drop(about) {
				dropped = append(dropped, about)
			}
		}
	}
	return dropped
}

// withdraw remembers that a record was withdrawn.
func (a absence) withdraw(about export, doubts func(names.ClusterID) bool) {
	of := a.withdrawn[about.cluster]
	if len(of) >= maxWithdrawn && !doubts(about.cluster) {
		clear(of)
	}
	if of == nil {
		of = map[types.NamespacedName]bool{}
		a.withdrawn[about.cluster] = of
	}
	for other := range of {
		if len(of) < maxWithdrawn {
			break
		}
		delete(of, other)
	}
	of[about.service] = true
}

// has tells whether it is remembered that a record was withdrawn.
func (a absence) has(about export) bool { return a.withdrawn[about.cluster][about.service] }

// back forgets that a record was withdrawn.
func (a absence) back(about export) {
	of := a.withdrawn[about.cluster]
	if delete(of, about.service); len(of) == 0 {
		delete(a.withdrawn, about.cluster)
	}
}

// visible tells whether this member takes notice of a record that there is. What others have
// withdrawn it does not; what it has itself, it deletes.
func (e *Epoch) visible(object client.Object) bool {
	record := object.(*brokerv1alpha1.ExportedService)
	about := exportOf(record)
	if about.cluster == e.self {
		return true
	}
	e.mu.Lock()
	dropped := e.absent.drop(about)
	var again []func()
	if Withdrawn(record) {
		e.absent.withdraw(about, e.doubts)
		again = e.waiting.take(about)
		if dropped && e.view != nil { // the copy has had none, so that its handlers do not hear of it
			again = append(again, e.view.announcement(about))
		}
	} else {
		e.absent.back(about)
	}
	e.mu.Unlock()
	call(again)
	return !Withdrawn(record)
}

// recordChanged takes notice of a change of a record, and says what it is for the copy.
func (e *Epoch) recordChanged(what watch.EventType, object client.Object) watch.EventType {
	switch {
	case what == watch.Deleted:
		e.recordGone(object.(*brokerv1alpha1.ExportedService))
	case e.visible(object):
	case what == watch.Added:
		return ""
	case what == watch.Modified:
		return watch.Deleted
	}
	return what
}

// recordGone takes notice of a record that is not there any more. Of one that was withdrawn before that
// is known already.
func (e *Epoch) recordGone(record *brokerv1alpha1.ExportedService) {
	if Withdrawn(record) {
		return
	}
	about := exportOf(record)
	e.happened(func(j *epoch.Judge) {
		j.Vanished(about.cluster.String(), version(record.ResourceVersion))
		if about.cluster != e.self && e.doubts(about.cluster) && e.view != nil && e.view.slices.Follows(about.service.Namespace) {
			kept := record.DeepCopy()
			CleanRecord(kept) // the copies' transform has not seen it
			e.absent.keep(about, kept)
		}
	})
}

// sliceChanged takes notice of a change of a slice. Whether its own are there a member sees for itself.
func (e *Epoch) sliceChanged(what watch.EventType, object client.Object) watch.EventType {
	of := object.GetLabels()
	about := export{
		types.NamespacedName{Namespace: of[names.LabelServiceNamespace], Name: of[names.LabelServiceName]},
		names.ClusterID(of[names.LabelSourceCluster]),
	}
	if what == watch.Deleted && about.cluster != e.self {
		e.happened(func(j *epoch.Judge) {
			if !e.absent.has(about) {
				j.Lacks(about.cluster.String(), version(object.GetResourceVersion()))
			}
		})
	}
	return what
}

// keptOf returns the records of a service that are missing on the broker, and may be there all the same.
func (e *Epoch) keptOf(service types.NamespacedName) []*brokerv1alpha1.ExportedService {
	e.mu.Lock()
	defer e.mu.Unlock()
	var kept []*brokerv1alpha1.ExportedService
	for _, record := range e.absent.kept[service] {
		kept = append(kept, record)
	}
	return kept
}

// keptFrom returns what is kept of one cluster although it is missing on the broker.
func (e *Epoch) keptFrom(cluster names.ClusterID) []export {
	e.mu.Lock()
	defer e.mu.Unlock()
	var kept []export
	for service, clusters := range e.absent.kept {
		if clusters[cluster] != nil {
			kept = append(kept, export{service, cluster})
		}
	}
	return kept
}

// waiting is what waits for doubts about what a cluster exports to be over, each once for its key.
type waiting map[export]map[any]func()

func (w waiting) add(about export, key any, again func()) {
	if w[about] == nil {
		w[about] = map[any]func(){}
	}
	w[about][key] = again
}

// take takes out what waits for one export.
func (w waiting) take(about export) (again []func()) {
	for _, f := range w[about] {
		again = append(again, f)
	}
	delete(w, about)
	return again
}

// takeAll takes out what waits for clusters.
func (w waiting) takeAll(of func(names.ClusterID) bool) (again []func()) {
	for about := range w {
		if of(about.cluster) {
			again = append(again, w.take(about)...)
		}
	}
	return again
}

func call(functions []func()) {
	for _, f := range functions {
		f()
	}
}

// version is a resource version as a number, 0 for one that is none.
func version(resourceVersion string) uint64 {
	n, _ := strconv.ParseUint(resourceVersion, 10, 64) // what is none can't be compared
	return n
}
