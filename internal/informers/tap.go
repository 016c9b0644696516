package informers

import (
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Tap sees what an API server sends before a copy has it, and has copies made anew where the
// API server was put back to an earlier state. Functions that are nil are not called.
type Tap struct {
	// Listed is called when a list is complete, and the copy is about to be made anew from it.
	Listed func()
	// First is called in place of Listed for the first list of one of several copies.
	First func()
	// Item is called with an object of a list, and tells whether the copy is to have it.
	Item func(client.Object) bool
	// Event is called with a change, and returns what it is to be for the copy.
	Event func(watch.EventType, client.Object) watch.EventType
	// Metered bounds what the copies hold of each member, where it is not nil. Taps that are made of this one share it.
	Metered *Metered

	parent *Tap

	mu      sync.Mutex
	expired chan struct{}
}

// fromNow returns a tap that is as this one, but tells the first list from others: from a copy that has just been begun
// nothing can have gone.
func (t *Tap) fromNow() *Tap {
	if t == nil {
		return nil
	}
	var begun atomic.Bool
	return &Tap{parent: t, Item: t.Item, Event: t.Event, Listed: func() {
		if begun.Swap(true) {
			t.listed()
		} else if t.First != nil {
			t.First()
		}
	}}
}

// With returns a tap that is as this one, but calls another function when a list is complete.
func (t *Tap) With(listed func()) *Tap {
	return &Tap{parent: t, Item: t.Item, Event: t.Event, Listed: listed}
}

// Expire has the copies be made anew by another list. A watch that goes on from a version that is
// yet to come gets nothing until then, and no error.
func (t *Tap) Expire() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expired != nil {
		close(t.expired)
		t.expired = nil
	}
}

func (t *Tap) expiry() <-chan struct{} {
	if t.parent != nil {
		return t.parent.expiry()
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.expired == nil {
		t.expired = make(chan struct{})
	}
	return t.expired
}

// list looks at one page of a list.
func (t *Tap) list(list client.ObjectList) error {
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	kept := make([]runtime.Object, 0, len(items))
	for _, item := range items {
		if t.Item == nil || t.Item(item.(client.Object)) {
			kept = append(kept, item)
		}
	}
	if len(kept) < len(items) {
		if err := meta.SetList(list, kept); err != nil {
			return err
		}
	}
	if list.GetContinue() == "" {
		t.listed()
	}
	return nil
}

func (t *Tap) listed() {
	if t.Listed != nil {
		t.Listed()
	}
}

// latest has a list be of what there is now, and not of a version that may never come.
func latest(o metav1.ListOptions) metav1.ListOptions {
	if o.Continue == "" {
		o.ResourceVersion = ""
	}
	if o.SendInitialEvents == nil {
		o.ResourceVersionMatch = ""
	}
	return o
}

// earlier is by how much a watch may end before its time without that it was broken off.
const earlier = time.Second

// watch looks at a watch that was asked for at a time, and may begin with a list. The API server
// counts the time that was agreed on from then, and not from its first answer. expired is closed when what was
// listed before is to be listed anew.
func (t *Tap) watch(w watch.Interface, m *meter, o metav1.ListOptions, asked time.Time, expired <-chan struct{}) watch.Interface {
	tapped := &tapped{
		tap: t, meter: m, inner: w, listing: ptr.Deref(o.SendInitialEvents, false), result: make(chan watch.Event), stopped: make(chan struct{}),
		ends: asked.Add(time.Duration(ptr.Deref(o.TimeoutSeconds, 0))*time.Second - earlier),
	}
	go tapped.run(expired)
	return tapped
}

// tapped is a watch that a tap looks at.
type tapped struct {
	tap     *Tap
	meter   *meter
	inner   watch.Interface
	listing bool
	ends    time.Time // by agreement
	result  chan watch.Event
	stop    sync.Once
	stopped chan struct{}
	without bool // this watch is to end, for one that does not bring what a member writes
}

// ResultChan implements watch.Interface.
func (w *tapped) ResultChan() <-chan watch.Event { return w.result }

// Stop implements watch.Interface.
func (w *tapped) Stop() {
	w.stop.Do(func() { close(w.stopped) })
	w.inner.Stop()
}

func (w *tapped) run(expired <-chan struct{}) {
	defer close(w.result)
	defer w.inner.Stop()
	var incomplete <-chan time.Time // never
	if w.meter != nil {
		look := time.NewTicker(remake)
		defer look.Stop()
		incomplete = look.C
	}
	for !w.without {
		var event watch.Event
		select {
		case <-w.stopped:
			return
		case <-expired:
			event = gone
		case <-incomplete:
			if w.listing || !w.meter.incomplete() {
				continue
			}
			event = gone
		case e, open := <-w.inner.ResultChan():
			if !open && !time.Now().Before(w.ends) {
				return
			}
			if event = gone; open && !isClosed(expired) { // what it brings after that is of before
				event = w.look(e)
			}
		}
		if event.Type == "" {
			continue
		}
		select {
		case <-w.stopped:
			return
		case w.result <- event:
		}
		if event == gone {
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// gone is what an API server says when a watch can't go on, and a list is needed. So does one that
// has been broken off: the API server may have been put back to an earlier state since.
var gone = watch.Event{Type: watch.Error, Object: &metav1.Status{
	Status: metav1.StatusFailure, Code: http.StatusGone, Reason: metav1.StatusReasonExpired, Message: "the copy is to be made anew",
}}

// look returns an event as it is for the copy, of type "" if it is to be none.
func (w *tapped) look(e watch.Event) watch.Event {
	object, ok := e.Object.(client.Object)
	switch {
	case !ok: // a Status
	case e.Type == watch.Bookmark:
		if w.listing && object.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			w.listing = false
			w.meter.end()
			w.tap.listed()
		}
	case w.listing && e.Type == watch.Added:
		if !w.meter.listed(object) || w.tap.Item != nil && !w.tap.Item(object) {
			return watch.Event{}
		}
	default:
		var ok bool
		if ok, w.without = w.meter.changed(e.Type, object); !ok {
			return watch.Event{}
		}
		if w.tap.Event != nil {
			e.Type = w.tap.Event(e.Type, object)
		}
	}
	return e
}
