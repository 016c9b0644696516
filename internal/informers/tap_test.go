package informers

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// scripted is an API server that answers each watch that begins with a list with the events of the next script.
type scripted struct {
	client.WithWatch
	mu      sync.Mutex
	scripts [][]watch.Event
	asked   []string // versions that lists were asked for
	last    *watch.FakeWatcher
	away    bool
}

func (s *scripted) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	var o client.ListOptions
	o.ApplyOptions(opts)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.away {
		return nil, errors.New("connection refused")
	}
	w := watch.NewFakeWithChanSize(100, false)
	s.last = w
	if !ptr.Deref(o.Raw.SendInitialEvents, false) {
		return w, nil
	}
	s.asked = append(s.asked, o.Raw.ResourceVersion)
	if len(s.scripts) > 0 {
		for _, e := range s.scripts[0] {
			w.Action(e.Type, e.Object)
		}
		s.scripts = s.scripts[1:]
	}
	return w, nil
}

func named(name, version string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, ResourceVersion: version}}
}

func end(version string) watch.Event {
	mark := named("", version)
	mark.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	return watch.Event{Type: watch.Bookmark, Object: mark}
}

// TestTap has a copy be told of what goes in another way than it does, and be made anew.
func TestTap(t *testing.T) {
	s := &scripted{scripts: [][]watch.Event{
		{
			{Type: watch.Added, Object: named("kept", "5")}, {Type: watch.Added, Object: named("hidden", "5")}, end("9"),
			{Type: watch.Modified, Object: named("kept", "10")}, {Type: watch.Added, Object: named("added", "11")},
			{Type: watch.Added, Object: named("unwanted", "12")}, {Type: watch.Modified, Object: named("added", "13")},
		},
		{{Type: watch.Added, Object: named("restored", "3")}, end("4")},
		{{Type: watch.Added, Object: named("again", "5")}, end("6")},
	}}
	happened := make(chan string, 100)
	tap := &Tap{
		Listed: func() { happened <- "listed" },
		Item:   func(o client.Object) bool { return o.GetName() != "hidden" },
		Event: func(what watch.EventType, o client.Object) watch.EventType {
			switch {
			case o.GetName() == "unwanted":
				return ""
			case o.GetName() == "added" && what == watch.Modified:
				return watch.Deleted
			}
			return what
		},
	}
	informer := NewTapped(s, tap, &corev1.ConfigMapList{}, &corev1.ConfigMap{}, nil)
	OnChange(informer, func(o *corev1.ConfigMap, _ bool) { happened <- o.Name + o.ResourceVersion })
	go informer.RunWithContext(t.Context())
	expect := func(want ...string) {
		t.Helper()
		var got []string
		for range want {
			got = append(got, <-happened)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	}
	// What changes is told with both of its forms.
	expect("listed", "kept5", "kept5", "kept10", "added11", "added13")
	tap.Expire()
	got := []string{<-happened, <-happened, <-happened}
	slices.Sort(got)
	if want := []string{"kept10", "listed", "restored3"}; !slices.Equal(got, want) {
		t.Errorf("made anew: %v, want %v", got, want)
	}
	// A watch that is broken off, and does not end when it was to, is not gone on with either.
	s.mu.Lock()
	s.last.Stop()
	s.mu.Unlock()
	got = []string{<-happened, <-happened, <-happened}
	slices.Sort(got)
	if want := []string{"again5", "listed", "restored3"}; !slices.Equal(got, want) {
		t.Errorf("made anew: %v, want %v", got, want)
	}
	if !slices.Equal(s.asked, []string{"", "", ""}) {
		t.Errorf("lists of versions %q, which may never come", s.asked)
	}
}

// An API server that was put back gives versions out again: what has one that was known may have changed all the same.
func TestTheSameVersionOfSomethingElse(t *testing.T) {
	other := named("one", "5")
	other.Data = map[string]string{"is": "other"}
	s := &scripted{scripts: [][]watch.Event{
		{{Type: watch.Added, Object: named("one", "5")}, {Type: watch.Added, Object: named("two", "5")}, end("9")},
		{{Type: watch.Added, Object: other}, {Type: watch.Added, Object: named("two", "5")}, end("6")},
	}}
	happened := make(chan string, 100)
	tap := &Tap{}
	informer := NewTapped(s, tap, &corev1.ConfigMapList{}, &corev1.ConfigMap{}, nil)
	OnChange(informer, func(o *corev1.ConfigMap, _ bool) { happened <- o.Name + o.Data["is"] })
	go informer.RunWithContext(t.Context())
	got := []string{<-happened, <-happened}
	tap.Expire()
	got = append(got, <-happened, <-happened) // both forms of one, and nothing of two
	slices.Sort(got)
	if want := []string{"one", "one", "oneother", "two"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A watch that ends when it was to is gone on with from where it ended; one that ends much
// sooner was broken off. The time runs from when the API server was asked.
func TestEndOfAWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, tt := range []struct {
			after time.Duration // it was asked for that the watch ends
			want  bool          // that the copy is made anew
		}{{time.Second, true}, {8 * time.Second, true}, {9500 * time.Millisecond, false}, {10 * time.Second, false}, {time.Minute, false}} {
			inner := watch.NewFake()
			asked := time.Now()
			<-time.After(500 * time.Millisecond) // until it is answered
			w := (&Tap{}).watch(inner, nil, metav1.ListOptions{TimeoutSeconds: ptr.To(int64(10))}, asked, nil)
			<-time.After(tt.after - time.Since(asked))
			inner.Stop()
			event, more := <-w.ResultChan()
			if anew := more && event == gone; anew != tt.want {
				t.Errorf("after %v: made anew %v, event %v", tt.after, anew, event)
			}
			w.Stop()
		}
	})
}

// When copies are to be made anew nothing is told any more of what a watch has still to bring: it may be from before an
// earlier state was restored.
func TestNothingIsToldAfterExpiry(t *testing.T) {
	for range 100 { // there are two things to choose from
		inner := watch.NewFakeWithChanSize(2, false)
		inner.Modify(named("late", "100"))
		inner.Modify(named("late", "101"))
		tap := &Tap{Event: func(_ watch.EventType, o client.Object) watch.EventType {
			t.Errorf("%s is told", o.GetResourceVersion())
			return ""
		}}
		expired := tap.expiry()
		tap.Expire()
		w := tap.watch(inner, nil, metav1.ListOptions{TimeoutSeconds: ptr.To(int64(10))}, time.Now(), expired)
		if event := <-w.ResultChan(); event != gone {
			t.Fatalf("the copy gets %v", event)
		}
		w.Stop()
	}
}

// A copy whose watch can't be begun again just when copies are to be made anew is made anew when it can.
func TestExpiryWhileTheServerIsAway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &scripted{scripts: [][]watch.Event{{end("9")}, {{Type: watch.Added, Object: named("restored", "3")}, end("4")}}}
		tap := &Tap{}
		informer := NewTapped(s, tap, &corev1.ConfigMapList{}, &corev1.ConfigMap{}, nil)
		go informer.RunWithContext(t.Context())
		synctest.Wait()
		<-time.After(11 * time.Minute) // as long as the watch lasts by agreement
		s.mu.Lock()
		s.away = true
		s.last.Stop()
		s.mu.Unlock()
		<-time.After(time.Minute)
		tap.Expire()
		s.mu.Lock()
		s.away = false
		s.mu.Unlock()
		<-time.After(time.Minute)
		if names := informer.GetStore().ListKeys(); len(s.asked) != 2 || !slices.Equal(names, []string{"n/restored"}) {
			t.Errorf("the copy has %v after lists of %q", names, s.asked)
		}
	})
}

// Of a copy that has just been begun nothing is told but what changes, until it is made anew.
func TestTapFromNow(t *testing.T) {
	listed, first := 0, 0
	tap := &Tap{Listed: func() { listed++ }, First: func() { first++ }}
	one, other := tap.fromNow(), tap.fromNow()
	for i, step := range []struct {
		tap  *Tap
		want int
	}{{one, 0}, {other, 0}, {one, 1}, {one, 2}, {other, 3}} {
		if step.tap.listed(); listed != step.want {
			t.Errorf("step %d: %d lists are told, want %d", i, listed, step.want)
		}
	}
	if first != 2 {
		t.Errorf("%d first lists are told of two copies", first)
	}
	expired := one.expiry()
	tap.Expire()
	select {
	case <-expired:
	default:
		t.Error("it does not expire with the one that it is of")
	}
	if (*Tap)(nil).fromNow() != nil {
		t.Error("no tap has become one")
	}
}
