package integration

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
)

// Pitfall 5: a cluster's invalid export does not affect the exports of other clusters or their
// import in this cluster.
func TestAnInvalidExportStopsNobody(t *testing.T) {
	const ns = "invalid-own"
	namespace(t, ns, "c1", "c2")
	create(t, "c2", objects.ExternalName(ns, "external"))
	var addresses []string
	for name, reason := range map[string]string{"missing": "NoService", "external": "InvalidServiceType"} {
		invalid := export(ns, name)
		create(t, "c2", invalid) // older than the valid export
		expectCondition(t, "c2", invalid, "Valid", metav1.ConditionFalse, reason)

		address := fmt.Sprintf("10.1.1.%d", len(addresses))
		valid := share(t, "c1", ns, name, address)
		addresses = append(addresses, "c1/"+address)
		expectImport(t, "c1,c2", ns, name, from("c1"))
		expectCondition(t, "c1", valid, "Conflict", metav1.ConditionFalse, "NoConflicts")
		expectCondition(t, "c2", invalid, "Conflict", metav1.ConditionFalse, "NoConflicts")
	}
	expectAddresses(t, "c2", ns, addresses...)
}

// Pitfall 17: no agent writes a user's Service or EndpointSlice, or anything but the status of
// a user's ServiceExport.
func TestUsersObjectsAreNotWritten(t *testing.T) {
	const ns = "untouched"
	namespace(t, ns, "c1", "c2")
	exports := map[string]*mcsv1beta1.ServiceExport{}
	users := map[string][]client.Object{}
	for i, cluster := range []string{"c1", "c2"} {
		users[cluster] = []client.Object{service(ns, "web", 80, int32(81+i)), slice(ns, "web-x", "web", fmt.Sprintf("10.%d.1.1", i+1))}
		create(t, cluster, users[cluster]...)
		exports[cluster] = export(ns, "web")
		exports[cluster].Labels, exports[cluster].Annotations = map[string]string{"a": "b"}, map[string]string{"c": "d"}
		create(t, cluster, exports[cluster])
	}
	for cluster, e := range exports {
		made := e.DeepCopy()
		expectCondition(t, cluster, e, "Ready", metav1.ConditionTrue, "Exported")
		expectCondition(t, cluster, e, "Conflict", metav1.ConditionTrue, "PortConflict")
		expectAddresses(t, cluster, ns, "c1/10.1.1.1", "c2/10.2.1.1")
		made.ResourceVersion, made.ManagedFields, made.Status = e.ResourceVersion, e.ManagedFields, e.Status
		if diff := cmp.Diff(made.ObjectMeta, e.ObjectMeta); diff != "" {
			t.Errorf("%s: the ServiceExport's metadata was changed:\n%s", cluster, diff)
		}
	}
	for cluster, e := range exports {
		remove(t, cluster, e)
	}
	expectBrokerEmpty(t, ns)
	for cluster, objects := range users {
		expectGone(t, cluster, service(ns, "web-clusterset"))
		expectUntouched(t, cluster, objects...)
	}
}

// Pitfall 33: when an API server restarts, all watches restart and replay all objects. The
// replay must not bring back deleted objects, not even for a moment, and must not cause writes.
func TestReplayedWatchesBringNothingBack(t *testing.T) {
	const ns = "replay"
	namespace(t, ns, "c1", "c2")
	exports := map[string]*mcsv1beta1.ServiceExport{}
	for i, name := range []string{"gone", "kept"} {
		exports[name] = share(t, "c1", ns, name, fmt.Sprintf("10.1.1.%d", i))
		expectImport(t, "c1,c2", ns, name, from("c1"))
		expectCondition(t, "c1", exports[name], "Ready", metav1.ConditionTrue, "Exported")
		expectCondition(t, "c1", exports[name], "Conflict", metav1.ConditionFalse, "NoConflicts")
		expectAggregate(t, ns, name, "c1") // the status of the entry is the last write
	}
	remove(t, "c1", exports["gone"])
	expectGone(t, "c1,c2", service(ns, "gone-clusterset"))
	expectAddresses(t, "c1,c2", ns, "c1/10.1.1.1")
	expectGone(t, lab.Broker, objects.Entry(ns, "gone", "", ""))
	before := everything(t, ns)
	addresses := []string{"c1/10.1.1.1"}
	for i, restarted := range []string{lab.Broker, "c1", "c2"} {
		// Effects of a replay are visible on the other API servers, which keep running.
		var seen []func() []string
		for _, cluster := range []string{lab.Broker, "c1", "c2"} {
			if cluster != restarted {
				seen = append(seen, created(t, cluster, ns, "gone"))
			}
		}
		noError(t, theLab.Kill(t.Context(), restarted+"/apiserver"))
		start(t, restarted+"/apiserver")
		// A new service that is imported shows that all watches work again.
		name, address := fmt.Sprintf("after-%d", i), fmt.Sprintf("10.1.2.%d", i)
		share(t, "c1", ns, name, address)
		addresses = append(addresses, "c1/"+address)
		expectImport(t, "c1,c2", ns, name, from("c1"))
		expectAddresses(t, "c1,c2", ns, addresses...)
		expectAggregate(t, ns, name, "c1")
		for _, objects := range seen {
			for _, object := range objects() {
				t.Errorf("after the restart of %s/apiserver: %s is made again", restarted, object)
			}
		}
	}
	expectVersions(t, ns, before)
	after := everything(t, ns)
	maps.DeleteFunc(after, func(key string, _ client.Object) bool { return !strings.Contains(key, "gone") })
	withdrawn := &brokerv1alpha1.ExportedService{ObjectMeta: objects.OnBroker("c1", "gone."+ns+".c1")}
	if on[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(withdrawn), withdrawn) == nil && layout.Withdrawn(withdrawn) {
		delete(after, "broker *v1alpha1.ExportedService gone."+ns+".c1")
	}
	delete(after, "c1 *v1.Service gone")
	delete(after, "c1 *v1.EndpointSlice gone-x")
	if len(after) > 0 {
		t.Errorf("there are still %v", slices.Sorted(maps.Keys(after)))
	}
}

// created watches Atoll's objects in a namespace, in a cluster or on the broker. The returned
// function ends the watch and returns the created objects whose names begin with prefix.
func created(t *testing.T, cluster, namespace, prefix string) func() []string {
	t.Helper()
	where := []client.ListOption{client.InNamespace(namespace)}
	lists := []client.ObjectList{&mcsv1beta1.ServiceImportList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{}}
	if cluster == lab.Broker {
		where = []client.ListOption{client.InNamespace(broker.DefaultNamespace), client.MatchingLabels{"atoll.dev/service-namespace": namespace}}
		lists = []client.ObjectList{&mcsv1beta1.ServiceImportList{}, &brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{}}
	}
	var ends []func() []string
	for _, list := range lists {
		ends = append(ends, eventNotes(t, cluster, list, where, func(event watch.Event) string {
			object, ok := event.Object.(client.Object)
			if !ok || event.Type != watch.Added || !strings.HasPrefix(object.GetName(), prefix) || object.GetLabels()[discoveryv1.LabelManagedBy] == "test" ||
				layout.Withdrawn(object) { // a withdrawn object does not count
				return ""
			}
			if s, ok := object.(*corev1.Service); ok && s.Labels["atoll.dev/managed-by"] == "" {
				return "" // the user's own
			}
			return fmt.Sprintf("%s %T %s", cluster, object, object.GetName())
		}))
	}
	return func() (all []string) {
		for _, end := range ends {
			all = append(all, end()...)
		}
		return all
	}
}

// eventNotes watches objects. The returned function ends the watch and returns the non-empty
// results of note for each event.
func eventNotes(t *testing.T, cluster string, list client.ObjectList, where []client.ListOption, note func(watch.Event) string) func() []string {
	t.Helper()
	w, err := on[cluster].Watch(t.Context(), list, where...)
	if err != nil {
		t.Fatalf("watching %T in %s: %v", list, cluster, err)
	}
	var notes []string
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range w.ResultChan() {
			if n := note(event); n != "" {
				notes = append(notes, n)
			}
		}
	}()
	stop := func() []string {
		w.Stop()
		<-ended
		return notes
	}
	t.Cleanup(func() { stop() })
	return stop
}
