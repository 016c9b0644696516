package broker

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/epoch"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
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

// heartbeatAt is the own heartbeat at a version.
func heartbeatAt(version string) *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", ResourceVersion: version}}
}

func recordOf(cluster, version string, withdrawn bool) *brokerv1alpha1.ExportedService {
	record := &brokerv1alpha1.ExportedService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "web.shop." + cluster, ResourceVersion: version},
		Spec:       brokerv1alpha1.ExportedServiceSpec{ClusterID: cluster, ServiceNamespace: "shop", ServiceName: "web", Type: mcsv1beta1.ClusterSetIP, ExportedAt: metav1.Now()},
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
		lease := heartbeatAt(version)
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
	first.Renewed(first.Beat(), beat("50", ""))
	found(first, "an older one", beat("20", ""), true, true)
	first.look(2, 0)
	found(first, "the other replica says so too", beat("21", "then"), false, false)
	first.Renewed(first.Beat(), beat("22", "then"))
	found(first, "nothing new", beat("23", "then"), false, false)
	found(first, "the other one finds another one, and all is believed already", beat("24", "late"), false, false)
	first.taps.slices.Listed()
	found(first, "the other one finds another one", beat("25", "later"), false, true)

	// It is found by a look, and the heartbeat renewed by who does not know yet.
	looked := newScene()
	looked.Renewed(looked.Beat(), beat("50", ""))
	found(looked, "an older one", beat("20", ""), true, true)
	looked.look(2, 0)
	looked.Renewed(looked.Beat(), beat("21", ""))
	found(looked, "which the heartbeat does not say yet", beat("21", ""), true, false)
	looked.foundAt = looked.foundAt.Add(-tellWithin)
	found(looked, "and does not come to say any more", beat("21", ""), false, false)
	found(looked, "the other replica has found it too, and says so", beat("22", "then"), false, false)
	found(looked, "the same", beat("23", "then"), false, false)

	second := newScene()
	second.Renewed(second.Beat(), beat("50", ""))
	found(second, "an older one, of which the other replica has said so", beat("21", "then"), false, true)
	second.look(2, 0)
	found(second, "the same", beat("22", "then"), false, false)
}

// The answer to a request from before the broker was put back comes when that has been found, and others have published again: the
// heartbeat is no older one once more.
func TestALateAnswer(t *testing.T) {
	for name, late := range map[string]func(*scene, Beat){
		"it was read":    func(s *scene, before Beat) { s.compare(before, heartbeatAt("51")) },
		"it was written": func(s *scene, before Beat) { s.Renewed(before, heartbeatAt("51")) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			s.Renewed(s.Beat(), heartbeatAt("50"))
			before := s.Beat()
			if !s.compare(s.Beat(), heartbeatAt("20")) {
				t.Fatal("it is an older one")
			}
			s.look(2, 0)
			late(s, before)
			if s.compare(s.Beat(), heartbeatAt("21")); s.judge.Outdated("c2") {
				t.Error("c2 is awaited once more")
			}
			if s.compare(s.Beat(), heartbeatAt("20")); !s.judge.Outdated("c2") {
				t.Error("it is an older one again, and that is not found")
			}
		})
	}
}

// The broker was put back to a state that is as young as the heartbeat: that the own entry is older than in the copy tells so, once.
func TestTheOwnEntryIsOlder(t *testing.T) {
	entry := func(uid types.UID, version string) *brokerv1alpha1.MemberCluster {
		return &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", UID: uid, ResourceVersion: version}}
	}
	for name, tt := range map[string]struct {
		had      *brokerv1alpha1.MemberCluster
		place    types.UID
		late     bool // it was found meanwhile that the broker was put back
		outdated bool
	}{
		"it is older":                    {entry("one", "50"), "uid", false, true},
		"it is older in another place":   {entry("one", "50"), "another", false, false},
		"it is newer":                    {entry("one", "10"), "uid", false, false},
		"it is another one":              {entry("two", "50"), "uid", false, false},
		"the copy was that of before it": {entry("one", "50"), "uid", true, false},
	} {
		t.Run(name, func(t *testing.T) {
			e := settled(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: tt.place}}, entry("one", "20"),
			).Build())
			e.judge.Looked(e.judge.Begin(), epoch.Reading{Place: "uid", Members: map[string]epoch.Statement{"c2": {Place: "uid", At: 1}}})
			e.Renewed(e.Beat(), heartbeatAt("49"))
			before := e.Beat()
			if tt.late {
				e.begin("")
			}
			if err := e.Outran(t.Context(), before, tt.had); err != nil || e.judge.Outdated("c2") != tt.outdated {
				t.Errorf("what there is of c2 is outdated %t, want %t; %v", e.judge.Outdated("c2"), tt.outdated, err)
			}
			// It is found once: neither while the copy is made anew, nor because the heartbeat is older, too.
			found := e.Beat().epoch
			if err := e.Outran(t.Context(), e.Beat(), tt.had); err != nil {
				t.Error(err)
			}
			e.compare(e.Beat(), heartbeatAt("20"))
			if again := e.Beat().epoch; tt.outdated && again != found {
				t.Errorf("it is found %d times more", again-found)
			}
		})
	}
}

// A copy that does not come to show what there is is made anew, and one that does is not.
func TestADeafCopyIsMadeAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		entry := func(version string) *brokerv1alpha1.MemberCluster {
			return &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", UID: "one", ResourceVersion: version}}
		}
		e := settled(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(entry("60")).Build())
		is := func(what, had string, want int) {
			t.Helper()
			if err := e.Outran(t.Context(), e.Beat(), entry(had)); err != nil || e.Beat().epoch != want {
				t.Errorf("%s: copies were made anew %d times, want %d; %v", what, e.Beat().epoch, want, err)
			}
		}
		is("outdated", "40", 0)
		<-time.After(deafFor - time.Second)
		is("not for long", "40", 0)
		<-time.After(time.Second)
		is("by something else", "41", 0)
		<-time.After(deafFor)
		is("for long", "41", 1)
	})
}

// A broker that is put back to when this cluster was no member yet has no heartbeat of its that could be older. Whoever
// else was none is not taken for removed, and that everything is from then the version tells of the heartbeat that is made.
func TestABackupFromBeforeThisClusterJoined(t *testing.T) {
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
			e.Renewed(e.Beat(), heartbeatAt("50"))
			if e.look(t.Context()); e.Doubts("c2") || !e.Doubts("c3") {
				t.Errorf("doubts about c2 %t, and about c3, which is missing, %t", e.Doubts("c2"), e.Doubts("c3"))
			}
			made := heartbeatAt(tt.version)
			e.client = fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(append(there, made)...).Build()
			e.Renewed(e.Beat(), made)
			if e.look(t.Context()); e.judge.Outdated("c2") != tt.outdated || !e.Doubts("c3") {
				t.Errorf("what there is of c2 is outdated %t, doubts about c3 %t", e.judge.Outdated("c2"), e.Doubts("c3"))
			}
		})
	}
}

// Somebody deletes the own heartbeat, and nothing else: whoever is removed before it is there again was removed. Where the entry is
// another one as well, who is missing may not have been a member yet.
func TestTheOwnHeartbeatAloneIsMissing(t *testing.T) {
	entry := func(uid types.UID) *brokerv1alpha1.MemberCluster {
		return &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "self", UID: uid}}
	}
	other := &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "c3"}}
	beat := heartbeatAt("50")
	at := func(objects ...client.Object) client.WithWatch {
		objects = append(objects, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "uid"}})
		return fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(objects...).Build()
	}
	for name, tt := range map[string]struct {
		now     []client.Object
		awaited bool // c3, which is not there any more
	}{
		"the entry is the same":   {[]client.Object{entry("one")}, false},
		"the entry was made anew": {[]client.Object{entry("another")}, true},
		"there is no entry":       {nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := settled(at(entry("one"), other, beat))
			e.Renewed(e.Beat(), beat)
			if e.look(t.Context()); e.Doubts("c3") {
				t.Fatal("it is there")
			}
			e.client = at(tt.now...)
			if e.look(t.Context()); e.Doubts("c3") != tt.awaited {
				t.Errorf("awaited: %t, want %t", !tt.awaited, tt.awaited)
			}
		})
	}
}

// A namespace that could be read and can't be any more may be another one: until that is known nobody is taken for removed. One that never could be
// is that of a broker which an older version has deployed, and one that can't be for long too.
func TestANamespaceThatCanNotBeReadAnyMore(t *testing.T) {
	forbidden := interceptor.NewClient(fake.NewClientBuilder().WithScheme(Scheme()).Build(), interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if _, is := o.(*corev1.Namespace); is {
				return apierrors.NewForbidden(schema.GroupResource{Resource: "namespaces"}, key.Name, nil)
			}
			return c.Get(ctx, key, o, opts...)
		},
	})
	synctest.Test(t, func(t *testing.T) {
		at := func(place string) *Epoch {
			e := settled(forbidden)
			e.judge = epoch.NewJudge(epoch.Memory{Place: place, Members: map[string]epoch.Known{"c2": {At: 5}}})
			return e
		}
		is := func(what string, e *Epoch, settles bool) {
			t.Helper()
			settled := e.look(t.Context())
			if _, known := e.Memory().Members["c2"]; settled != settles || known == settles || e.Doubts("c2") == settles {
				t.Errorf("%s: settled %t, want %t; c2 is known %t, doubts about it %t", what, settled, settles, known, e.Doubts("c2"))
			}
		}
		is("it never could be", at(""), true)
		hidden := at("uid")
		is("it could be", hidden, false)
		<-time.After(hiddenFor - time.Second)
		is("it could be, a minute ago", hidden, false)
		<-time.After(time.Second)
		is("it can't be for a minute", hidden, true)

		older := at("uid")
		older.Renewed(older.Beat(), heartbeatAt("50"))
		if tell, err := older.Found(t.Context(), older.Beat(), heartbeatAt("20")); err != nil || !tell {
			t.Errorf("that the heartbeat is an older one is told %t, %v: it is to be renewed all the same", tell, err)
		}
	})
}

// A heartbeat that is older in another namespace is no news: which is for a look to find, and no replica says otherwise.
func TestAnOlderHeartbeatElsewhere(t *testing.T) {
	for place, want := range map[types.UID]bool{"uid": true, "another": false} {
		e := settled(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: place}}).Build())
		e.Renewed(e.Beat(), heartbeatAt("50"))
		if older, err := e.Found(t.Context(), e.Beat(), heartbeatAt("20")); err != nil || older != want {
			t.Errorf("in namespace %s it is told to be older: %t, %v", place, older, err)
		}
	}
}

// Where there is no time to look at all who have answered, those count that were looked at.
func TestSomeAreShown(t *testing.T) {
	s := newScene()
	s.client = interceptor.NewClient(s.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			var o client.ListOptions
			if o.ApplyOptions(opts); o.LabelSelector.Matches(labels.Set{names.LabelSourceCluster: "c3"}) {
				return context.DeadlineExceeded
			}
			return nil
		},
	})
	shown, err := s.shown(t.Context(), s.view, []string{"c2", "c3"})
	if err != nil || len(shown) != 1 || !shown["c2"] {
		t.Errorf("shown are %v, %v, want c2", shown, err)
	}
	if shown, err = s.shown(t.Context(), s.view, []string{"c3"}); err == nil {
		t.Errorf("shown are %v, want an error", shown)
	}
}

// A look that reads an earlier state than was seen before finds that the broker was put back, however young the heartbeat is.
func TestALookFindsAnEarlierState(t *testing.T) {
	e := settled(fake.NewClientBuilder().WithScheme(Scheme()).WithObjects(
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "set", UID: "uid"}},
		&brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "c2"}},
	).Build())
	older := interceptor.NewClient(e.client, interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			err := c.List(ctx, list, opts...)
			list.SetResourceVersion("40")
			return err
		},
	})
	e.look(t.Context())
	e.client = older
	e.taps.slices.Event(watch.Deleted, sliceOf("c2", "50"))
	if e.look(t.Context()); !e.judge.Outdated("c2") {
		t.Error("it is not found")
	}
	if again := e.Beat().epoch; again != 1 {
		t.Errorf("all copies were made anew %d times", again)
	}
	e.look(t.Context())
	if again := e.Beat().epoch; again != 1 {
		t.Errorf("it is found %d times", again)
	}
}
