package broker

import (
	"fmt"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/names"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// scene is what the member "self" knows of one other one, "c2", which exports shop/web.
type scene struct {
	*Epoch
	view *View
	told []export // by OnExport
	held int      // how often what was held was called
}

func newScene() *scene {
	c := fake.NewClientBuilder().WithScheme(Scheme()).Build()
	s := &scene{Epoch: settled(c)}
	s.view = NewView(c, s.Epoch)
	s.view.OnExport(func(e *brokerv1alpha1.ExportedService, _ bool) { s.told = append(s.told, exportOf(e)) })
	s.look(1, 1)
	s.view.Follow("shop")
	return s
}

// look has the member look, and find a statement.
func (s *scene) look(at int64, seen uint64) {
	s.mu.Lock()
	r := epoch.Reading{Place: "uid", Members: map[string]epoch.Statement{"c2": {Place: "uid", At: at, Seen: seen}}, Shown: map[string]bool{"c2": true}}
	s.judge.Looked(s.judge.Begin(), r)
	again := s.released()
	s.mu.Unlock()
	call(again)
}

func (s *scene) hold() bool {
	return s.Hold(web, "c2", "key", func() { s.held++ })
}

func (s *scene) lose(version string) {
	s.taps.exports.Event(watch.Deleted, recordOf("c2", version, false))
	s.taps.slices.Event(watch.Deleted, sliceOf("c2", version))
}

func recordOf(cluster, version string, withdrawn bool) *brokerv1alpha1.ExportedService {
	record := &brokerv1alpha1.ExportedService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "web.shop." + cluster, ResourceVersion: version},
		Spec:       brokerv1alpha1.ExportedServiceSpec{ClusterID: cluster, ServiceNamespace: "shop", ServiceName: "web"},
	}
	if withdrawn {
		metav1.SetMetaDataAnnotation(&record.ObjectMeta, names.AnnotationWithdrawn, "true")
	}
	return record
}

func sliceOf(cluster, version string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "web-x.shop." + cluster, ResourceVersion: version, Labels: map[string]string{
		names.LabelSourceCluster: cluster, names.LabelServiceNamespace: "shop", names.LabelServiceName: "web",
	}}}
}

// A record that goes without that its member has withdrawn it is there as it was, until the member has said
// that all is published. Pitfall 31.
func TestAMissingRecordIsKept(t *testing.T) {
	s := newScene()
	s.lose("7")
	if !s.hold() || s.view.Export(web, "c2") == nil {
		t.Fatal("it is believed to be gone")
	}
	if s.view.Hold(web, "c2") {
		t.Error("what it was is known, so that changes of it can be followed")
	}
	if s.look(2, 6); !s.Doubts("c2") {
		t.Error("what was said without having seen that it is gone is believed")
	}
	s.look(3, 7)
	if s.hold() || s.view.Export(web, "c2") != nil || s.held != 1 || len(s.told) != 1 || s.told[0] != (export{web, "c2"}) {
		t.Errorf("the member does not export it: held is called %d times, told %v", s.held, s.told)
	}
}

// A record that is back is as it is then.
func TestARecordIsBack(t *testing.T) {
	s := newScene()
	s.lose("7")
	if s.taps.exports.Event(watch.Added, recordOf("c2", "8", false)) != watch.Added || len(s.keptOf(web)) != 0 {
		t.Error("what it was is kept")
	}
	s.lose("9")
	if s.taps.exports.Event(watch.Added, recordOf("c2", "10", true)) != "" || s.view.Export(web, "c2") != nil || len(s.told) != 1 {
		t.Errorf("it is withdrawn, and told: %v", s.told)
	}
}

// What a member has withdrawn goes at once, whatever doubts there are. Pitfall 31.
func TestWhatIsWithdrawnGoesAtOnce(t *testing.T) {
	s := newScene()
	s.taps.slices.Event(watch.Deleted, sliceOf("c2", "6")) // of the two watches the other one is late
	if !s.hold() {
		t.Fatal("nobody has looked")
	}
	if s.taps.exports.Event(watch.Modified, recordOf("c2", "5", true)) != watch.Deleted || s.held != 1 || s.hold() {
		t.Errorf("what waits for it waits on: held is called %d times", s.held)
	}
	s.look(1, 1)
	s.taps.exports.Event(watch.Deleted, recordOf("c2", "8", true))
	s.taps.slices.Event(watch.Deleted, sliceOf("c2", "9"))
	if s.Doubts("c2") {
		t.Error("its slices go with it")
	}
	if s.taps.exports.Event(watch.Added, recordOf("c2", "10", false)); s.absent.has(export{web, "c2"}) {
		t.Error("it is exported again")
	}
}

// A slice that goes is gone after a look. Nobody says so.
func TestASliceGoes(t *testing.T) {
	s := newScene()
	s.taps.slices.Event(watch.Deleted, sliceOf("c2", "6"))
	if !s.hold() {
		t.Fatal("nobody has looked")
	}
	if s.look(1, 1); s.held != 1 || s.hold() {
		t.Error("the broker is what it was")
	}
}

// What this cluster has itself on the broker it sees as it is.
func TestOwnRecordsAreSeenAsTheyAre(t *testing.T) {
	s := newScene()
	if got := s.taps.exports.Event(watch.Modified, recordOf("self", "6", true)); got != watch.Modified {
		t.Errorf("%q, so that nobody deletes it", got)
	}
	s.taps.exports.Event(watch.Deleted, recordOf("self", "7", false))
	s.taps.slices.Event(watch.Deleted, sliceOf("self", "8"))
	if s.view.Hold(web, "self") || len(s.keptOf(web)) != 0 || s.Doubts("c2") {
		t.Error("its own that is missing is made again, not kept")
	}
}

// What is withdrawn is remembered as long as it may matter, and of nobody without a bound.
func TestWithdrawnAreForgotten(t *testing.T) {
	s := newScene()
	s.lose("7") // there are doubts about c2
	s.taps.exports.Event(watch.Modified, recordOf("c2", "8", true))
	for i := range 2 * maxWithdrawn {
		other := recordOf("c3", "9", true)
		other.Spec.ServiceName = fmt.Sprintf("s%d", i)
		s.taps.exports.Event(watch.Modified, other)
	}
	if n := len(s.absent.withdrawn["c3"]); n > maxWithdrawn || !s.absent.has(export{web, "c2"}) {
		t.Errorf("%d are remembered; c2's: %t", n, s.absent.has(export{web, "c2"}))
	}
	for i := range 2 * maxWithdrawn {
		other := recordOf("c2", "9", true)
		other.Spec.ServiceName = fmt.Sprintf("s%d", i)
		s.taps.exports.Event(watch.Modified, other)
		if !s.absent.has(exportOf(other)) {
			t.Fatalf("that %s was withdrawn is forgotten at once", other.Spec.ServiceName)
		}
	}
	if n := len(s.absent.withdrawn["c2"]); n > maxWithdrawn {
		t.Errorf("%d are remembered of a member that is in doubt", n)
	}
}

// Of what a member loses so much is kept as may be imported here, and nothing of namespaces that are not here.
func TestMissingRecordsAreBounded(t *testing.T) {
	s := newScene()
	elsewhere := recordOf("c2", "7", false)
	elsewhere.Spec.ServiceNamespace = "elsewhere"
	if s.taps.exports.Event(watch.Deleted, elsewhere); len(s.absent.kept) > 0 {
		t.Errorf("%v is kept", s.absent.kept)
	}
	for i := range 2 * maxKept {
		lost := recordOf("c2", "7", false)
		lost.Spec.ServiceName = fmt.Sprintf("s%d", i)
		s.taps.exports.Event(watch.Deleted, lost)
	}
	if n := len(s.absent.kept); n != maxKept || s.absent.many["c2"] != n {
		t.Errorf("%d are kept, or %v", n, s.absent.many)
	}
	if s.look(3, 7); len(s.absent.kept)+len(s.absent.many) > 0 {
		t.Errorf("%d are kept after the doubts, or %v", len(s.absent.kept), s.absent.many)
	}
}

// What a member changes waits for a look after a copy was made anew, and not for what the member has to say of
// what is missing.
func TestChangesWaitForALookAlone(t *testing.T) {
	s := newScene()
	s.lose("7")
	s.taps.slices.Listed()
	freed := 0
	hold := func() bool { return s.holdOutdated(web, "c2", "change", func() { freed++ }) }
	if !hold() {
		t.Fatal("it may be from before an earlier state was restored")
	}
	if s.look(2, 6); !s.Doubts("c2") || freed != 1 || hold() {
		t.Errorf("doubts %t, let go %d times, held again %t", s.Doubts("c2"), freed, hold())
	}
}

// That the broker was put back is found once, however many replicas find it: whoever has published again since then
// does not do so once more.
func TestTwoReplicasFindOneRestore(t *testing.T) {
	beat := func(version, restored string) *coordinationv1.Lease {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", ResourceVersion: version}}
		if restored != "" {
			lease.Annotations = map[string]string{names.AnnotationRestored: restored}
		}
		return lease
	}
	found := func(s *scene, what string, lease *coordinationv1.Lease, older, doubts bool) {
		t.Helper()
		if got := s.compare(s.Beat(), lease); got != older || s.judge.Outdated("c2") != doubts {
			t.Errorf("%s: it is to be said %t, want %t; c2 is outdated %t, want %t", what, got, older, !doubts, doubts)
		}
	}
	first := newScene()
	first.Renewed(beat("50", ""))
	found(first, "an older one", beat("20", ""), true, true)
	first.look(2, 0)
	found(first, "the other replica says so too", beat("21", "then"), false, false)
	first.Renewed(beat("22", "then"))
	found(first, "nothing new", beat("23", "then"), false, false)
	found(first, "the other one finds another one", beat("24", "later"), false, true)

	second := newScene()
	second.Renewed(beat("50", ""))
	found(second, "an older one, of which the other replica has said so", beat("21", "then"), false, true)
	second.look(2, 0)
	found(second, "the same", beat("22", "then"), false, false)
}

// A broker that is put back to when this cluster was no member yet has no heartbeat of its that could be older. Whoever
// else was none is not taken for removed, and that everything is from then the version tells of the heartbeat that is made.
func TestABackupFromBeforeThisClusterJoined(t *testing.T) {
	beat := func(version string) *coordinationv1.Lease {
		return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", ResourceVersion: version}}
	}
	for name, tt := range map[string]struct {
		version  string // of the heartbeat that is made
		outdated bool   // what there is of c2
	}{
		"it was deleted":       {"60", false},
		"the broker went back": {"20", true},
	} {
		t.Run(name, func(t *testing.T) {
			there := []client.Object{
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "uid"}},
				&brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "c2"}},
			}
			e := settled(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(there...).Build())
			e.judge.Looked(e.judge.Begin(), epoch.Reading{Place: "uid", Members: map[string]epoch.Statement{"c2": {}, "c3": {}}})
			e.Renewed(beat("50"))
			if e.look(t.Context()); e.Doubts("c2") || !e.Doubts("c3") {
				t.Errorf("doubts about c2 %t, and about c3, which is missing, %t", e.Doubts("c2"), e.Doubts("c3"))
			}
			made := beat(tt.version)
			e.client = fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(append(there, made)...).Build()
			e.Renewed(made)
			if e.look(t.Context()); e.judge.Outdated("c2") != tt.outdated || !e.Doubts("c3") {
				t.Errorf("what there is of c2 is outdated %t, doubts about c3 %t", e.judge.Outdated("c2"), e.Doubts("c3"))
			}
		})
	}
}

// A heartbeat that is older in another namespace is no news: which is for a look to find, and no replica says otherwise.
func TestAnOlderHeartbeatElsewhere(t *testing.T) {
	for place, want := range map[types.UID]bool{"uid": true, "another": false} {
		e := settled(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: place}}).Build())
		beat := func(version string) *coordinationv1.Lease {
			return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", ResourceVersion: version}}
		}
		e.Renewed(beat("50"))
		if older, err := e.Found(t.Context(), e.Beat(), beat("20")); err != nil || older != want {
			t.Errorf("in namespace %s it is told to be older: %t, %v", place, older, err)
		}
	}
}
