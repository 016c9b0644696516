package view

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// world holds the objects of two owners, and the importer's view of them.
type world struct {
	now      time.Time
	owners   map[names.ClusterID]*belief.Owner
	counters map[names.ClusterID]belief.Counter
	objects  *Objects[string, int]
	answers  map[string]Answer[int] // answers that a subscriber has seen
	reading  []reading
	excused  map[string]bool // keys whose object the last step may delete or set back
	wants    bool
	room     bool
	missing  map[*Object[int]]bool // stubs that were missing on the broker when they were read; an event will follow
}

// reading is a read in progress.
type reading struct {
	key    string
	number int
	stub   *Object[int]
}

var keys = []string{"a1", "a2", "b1"}

func ownerOf(key string) names.ClusterID { return names.ClusterID(key[:1]) }

func newWorld() *world {
	w := &world{
		now: time.Unix(0, 0), owners: map[names.ClusterID]*belief.Owner{"a": {}, "b": {}}, counters: map[names.ClusterID]belief.Counter{"a": {Lease: "1"}, "b": {Lease: "1"}},
		answers: map[string]Answer[int]{}, missing: map[*Object[int]]bool{}, excused: map[string]bool{},
	}
	w.objects = NewObjects(rules[int](ownerOf, func(key string) belief.Owner { return *w.owners[ownerOf(key)] }))
	w.objects.rules.Wants = func(int) bool { return w.wants }
	w.objects.rules.Waits = func(int) bool { return !w.room }
	return w
}

// rules returns rules for objects of a single service.
func rules[O comparable](owner func(string) names.ClusterID, state func(string) belief.Owner) Rules[string, O] {
	return Rules[string, O]{
		Owner: owner, OwnerState: func(key string, _ types.NamespacedName, _ O) belief.Owner { return state(key) }, Compare: strings.Compare,
		Service: func(string, O) types.NamespacedName { return types.NamespacedName{Namespace: "shop", Name: "web"} },
		Same:    func(a, b O) bool { return a == b }, Wants: func(O) bool { return true }, Waits: func(O) bool { return true },
	}
}

func someObject(t *rapid.T) *Object[int] {
	return rapid.Custom(func(t *rapid.T) *Object[int] {
		o := &Object[int]{Value: rapid.IntRange(1, 9).Draw(t, "value"), Revision: rapid.Int64Range(0, 5).Draw(t, "revision")}
		o.State = rapid.SampledFrom([]border.State{"", border.Full, border.Full, border.Full, border.Withdrawn, border.Refused, border.Stub, border.OverLimit}).Draw(t, "state")
		if o.State == "" {
			return nil
		}
		return o
	}).Draw(t, "object")
}

// take takes the published keys of a step and starts the requested reads.
func (w *world) take() {
	changed, reads := w.objects.Take()
	for _, c := range changed {
		w.answers[c.Key] = w.objects.Get(c.Key)
	}
	for _, key := range reads {
		number, stub := w.objects.Read(key)
		w.reading = append(w.reading, reading{key, number, stub})
	}
}

func (w *world) put(t *rapid.T) {
	key, object := rapid.SampledFrom(keys).Draw(t, "key"), someObject(t)
	w.excused[key] = object != nil && object.State == border.Withdrawn
	w.objects.Put(key, object, w.now)
}

func (w *world) replace(t *rapid.T) {
	all := map[string]*Object[int]{}
	for _, key := range keys {
		if object := someObject(t); object != nil {
			all[key] = object
			w.excused[key] = object.State == border.Withdrawn
		}
	}
	first := !w.objects.complete
	if w.objects.Replace(all, w.now); first {
		for _, key := range keys {
			w.answers[key] = w.objects.Get(key)
		}
	}
}

func (w *world) want(t *rapid.T) {
	w.wants = rapid.Bool().Draw(t, "wanted")
	for _, key := range slices.Clone(w.objects.services.of(types.NamespacedName{Namespace: "shop", Name: "web"})) {
		w.objects.Want(key, func(content int) int { return content }, w.now)
	}
}

// content completes the read of a stub.
func (w *world) content(t *rapid.T) {
	i := slices.IndexFunc(w.reading, func(r reading) bool { return r.stub != nil })
	if i < 0 {
		t.Skip("nothing is read")
	}
	of := w.reading[i]
	w.reading = slices.Delete(w.reading, i, i+1)
	object := someObject(t)
	if object == nil {
		w.missing[of.stub] = true
	}
	w.excused[of.key] = object != nil && object.State == border.Withdrawn
	w.objects.Content(of.key, of.stub, object, w.now)
}

func (w *world) makeRoom(t *rapid.T) {
	w.room = rapid.Bool().Draw(t, "room")
	for _, key := range keys {
		w.objects.Room(key, w.now)
	}
}

func (w *world) changeOwner(t *rapid.T) {
	id := rapid.SampledFrom([]names.ClusterID{"a", "b"}).Draw(t, "owner")
	was := *w.owners[id]
	*w.owners[id] = belief.Owner{Removed: rapid.IntRange(0, 5).Draw(t, "removed") == 0, Lost: rapid.IntRange(0, 3).Draw(t, "lost") == 0}
	for _, key := range keys {
		w.excused[key] = w.excused[key] || ownerOf(key) == id
	}
	w.objects.Owner(id, was.Removed && !w.owners[id].Removed, w.now)
}

func (w *world) observe(t *rapid.T) {
	for _, id := range []names.ClusterID{"a", "b"} {
		c := w.counters[id]
		switch rapid.IntRange(0, 5).Draw(t, "counter") {
		case 0:
			c = belief.Counter{Lease: c.Lease + "x"}
		case 1:
		default:
			c.Count++
		}
		w.counters[id] = c
	}
	w.objects.Observe(w.now, w.counters)
}

func (w *world) confirm(t *rapid.T) {
	i := slices.IndexFunc(w.reading, func(r reading) bool { return r.number > 0 })
	if i < 0 {
		t.Skip("nothing is confirmed")
	}
	key, number := w.reading[i].key, w.reading[i].number
	w.reading = slices.Delete(w.reading, i, i+1)
	counter := w.counters[ownerOf(key)]
	counter.Refused = rapid.IntRange(0, 4).Draw(t, "refused") == 0
	w.excused[key] = true
	w.objects.Confirm(key, number, someObject(t), counter, w.now)
}

// After each step, the published keys cover all changed answers. An object is never deleted or
// set back to a lower revision, unless its owner withdraws or confirms it, is lost, or is
// removed.
func TestObjects(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		if rapid.Bool().Draw(t, "applied") {
			w.objects.Applied("a1", types.NamespacedName{}, 3)
		}
		for _, key := range keys {
			w.answers[key] = w.objects.Get(key)
		}
		before := map[string]Answer[int]{}
		t.Repeat(map[string]func(*rapid.T){
			"put": w.put, "replace": w.replace, "owner": w.changeOwner, "observe": w.observe, "confirm": w.confirm,
			"want": w.want, "content": w.content, "room": w.makeRoom,
			"time": func(*rapid.T) { w.now = w.now.Add(time.Second) },
			"": func(t *rapid.T) {
				w.take()
				for key := range w.objects.unread {
					if cached := w.objects.find(key).cached; !w.missing[cached] && !slices.ContainsFunc(w.reading, func(r reading) bool { return r.key == key && r.stub == cached }) {
						t.Fatalf("%s is not read", key)
					}
				}
				for _, key := range keys {
					now, owner := w.objects.Get(key), w.owners[ownerOf(key)]
					if known := w.answers[key]; w.objects.complete && (now.State != known.State || !w.objects.isSame(now.Object, known.Object)) {
						t.Fatalf("%s changed from %+v to %+v, and no key was published", key, known, now)
					}
					was := before[key]
					if was.Object != nil && was.Object.State != border.Stub && !w.excused[key] && !owner.Lost && !owner.Removed && (now.Object == nil || now.Object.Revision < was.Object.Revision) {
						t.Fatalf("%s was %+v, and is %+v", key, *was.Object, now)
					}
					before[key] = now
				}
				clear(w.excused)
			},
		})
	})
}

// The rules of the protocol, one by one. c1 owns all objects.
func TestRules(t *testing.T) {
	object := func(revision int64) *Object[string] {
		return &Object[string]{Value: fmt.Sprint(revision), Revision: revision, State: border.Full}
	}
	stub := func(revision int64) *Object[string] { return &Object[string]{Revision: revision, State: border.Stub} }
	withdrawn := func(revision int64) *Object[string] {
		return &Object[string]{Revision: revision, State: border.Withdrawn}
	}
	for name, tt := range map[string]struct {
		do   func(*Objects[string, string], *belief.Owner)
		want string
	}{
		"nothing is known before a list": {func(*Objects[string, string], *belief.Owner) {}, "Unknown"},
		"an empty list":                  {func(s *Objects[string, string], _ *belief.Owner) { s.Replace(nil, at(0)) }, "None"},
		"missing after a start": {func(s *Objects[string, string], _ *belief.Owner) {
			s.Applied("x", types.NamespacedName{}, 4)
			s.Replace(nil, at(0))
		}, "Unknown"},
		"lower after a start": {func(s *Objects[string, string], _ *belief.Owner) {
			s.Applied("x", types.NamespacedName{}, 4)
			s.Replace(map[string]*Object[string]{"x": object(3)}, at(0))
		}, "Unknown"},
		"higher after a start": {func(s *Objects[string, string], _ *belief.Owner) {
			s.Applied("x", types.NamespacedName{}, 4)
			s.Replace(map[string]*Object[string]{"x": object(5)}, at(0))
		}, "Believed 5"},
		"missing":               {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), nil) }, "Kept 4"},
		"lower":                 {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), object(3)) }, "Kept 4"},
		"lower, then the same":  {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), object(3), object(4)) }, "Believed 4"},
		"withdrawn":             {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), withdrawn(4)) }, "None"},
		"withdrawn, lower":      {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), withdrawn(3)) }, "Kept 4"},
		"withdrawn and revived": {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), withdrawn(5), nil, object(4)) }, "None"},
		"withdrawn and again":   {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), withdrawn(5), nil, object(6)) }, "Believed 6"},
		"missing, its owner lost": {func(s *Objects[string, string], o *belief.Owner) {
			seen(s, object(4), nil)
			o.Lost = true
			s.Owner("c1", false, at(1))
		}, "None"},
		"its owner removed": {func(s *Objects[string, string], o *belief.Owner) {
			seen(s, object(4))
			o.Removed = true
			s.Owner("c1", false, at(1))
		}, "None"},
		"removed and joined at any": {func(s *Objects[string, string], o *belief.Owner) {
			seen(s, object(4))
			o.Removed = true
			s.Owner("c1", false, at(1))
			s.Put("x", nil, at(2))
			o.Removed = false
			s.Owner("c1", true, at(3))
			s.Put("x", object(1), at(4))
		}, "Believed 1"},
		"another connection lacks it": {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4)); s.Replace(nil, at(9)) }, "Kept 4"},
		"refused": {func(s *Objects[string, string], _ *belief.Owner) {
			seen(s, object(4), &Object[string]{Value: "no", Revision: 5, State: border.Refused})
		}, "Believed no"},
		"a stub":                    {func(s *Objects[string, string], _ *belief.Owner) { seen(s, stub(4)) }, "Unknown"},
		"a stub after its content":  {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), stub(5)) }, "Kept 4"},
		"a stub, and its content":   {func(s *Objects[string, string], _ *belief.Owner) { seen(s, stub(4)); read(s, object(4)) }, "Believed 4"},
		"a stub, and older content": {func(s *Objects[string, string], _ *belief.Owner) { seen(s, object(4), stub(5)); read(s, object(3)) }, "Kept 4"},
		"a deleted stub":            {func(s *Objects[string, string], _ *belief.Owner) { seen(s, stub(4)); read(s, nil) }, "Unknown"},
		"over the limit, and then there is room": {func(s *Objects[string, string], _ *belief.Owner) {
			seen(s, &Object[string]{Value: "over", Revision: 4, State: border.OverLimit})
			s.rules.Waits = func(string) bool { return false }
			s.Room("x", at(0))
			read(s, object(4))
		}, "Believed 4"},
		"confirmed missing, then a lower revision": {func(s *Objects[string, string], o *belief.Owner) {
			confirmed(object(4), nil, 3, nil, false)(s, o)
			s.Put("x", object(1), at(300))
		}, "Believed 1"},
		"confirmed missing":          {confirmed(object(4), nil, 3, nil, false), "None"},
		"confirmed once":             {confirmed(object(4), nil, 2, nil, false), "Kept 4"},
		"confirmed, and there again": {confirmed(object(4), nil, 3, object(4), false), "Believed 4"},
		"confirmed lower":            {confirmed(object(4), object(3), 3, object(3), false), "Believed 3"},
		"confirmed, but refused":     {confirmed(object(4), nil, 3, nil, true), "Kept 4"},
	} {
		owner := &belief.Owner{}
		s := NewObjects(rules[string](func(string) names.ClusterID { return "c1" }, func(string) belief.Owner { return *owner }))
		tt.do(s, owner)
		answer, got := s.Get("x"), ""
		if got = []string{"Unknown", "None", "Believed", "Kept"}[answer.State]; answer.Object != nil {
			got += " " + answer.Object.Value
		}
		if got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// An event during a read invalidates the read, and the next observation requests another.
func TestReadsAreVoided(t *testing.T) {
	s := NewObjects(rules[string](func(string) names.ClusterID { return "c1" }, func(string) belief.Owner { return belief.Owner{} }))
	seen(s, &Object[string]{Value: "4", Revision: 4}, nil)
	counter := observe(s, 3)
	first, _ := s.Read("x")
	if keys := s.Reading(); len(keys) != 1 {
		t.Errorf("%d keys are being read", len(keys))
	}
	s.Put("x", &Object[string]{Value: "2", Revision: 2}, at(90)) // suspicious, too
	if s.Confirm("x", first, nil, counter, at(91)); s.Get("x").State != Kept || len(s.Reading()) > 0 {
		t.Error("the read counts, although the object has changed since")
	}
	s.Take()
	again := func(when time.Time) (number, reads int) {
		s.Observe(when, map[names.ClusterID]belief.Counter{"c1": counter})
		_, keys := s.Take()
		number, _ = s.Read("x")
		return number, len(keys)
	}
	number, reads := again(at(100))
	if reads != 1 {
		t.Error("the object is not read again")
	}
	if s.Confirm("x", first, nil, counter, at(101)); s.Get("x").State != Kept {
		t.Error("the invalidated first read counts as the second")
	}
	s.Confirm("x", number, nil, belief.Counter{Lease: "another"}, at(101))
	if _, reads := again(at(102)); s.Get("x").State != Kept || reads != 0 {
		t.Error("after a restore of the broker the read still counts, or is repeated at once")
	}
	for count, want := range []int{0, 1, 0} {
		counter.Count++
		if _, reads := again(at(200 + count)); reads != want {
			t.Errorf("after %d more comparisons, %d are read", count, reads)
		}
	}
}

// A restored Lease starts a new count too.
func TestCountersGoBack(t *testing.T) {
	s := NewObjects(rules[string](func(string) names.ClusterID { return "c1" }, func(string) belief.Owner { return belief.Owner{} }))
	seen(s, &Object[string]{Value: "4", Revision: 4}, nil)
	for i, count := range []int64{5, 6, 1, 2, 3} {
		s.Observe(at(60*(i+1)), map[names.ClusterID]belief.Counter{"c1": {Lease: "lease", Count: count}})
		if _, keys := s.Take(); (len(keys) > 0) != (i == 4) {
			t.Errorf("at %d, %d are read", count, len(keys))
		}
	}
}

func at(seconds int) time.Time { return time.Unix(int64(seconds), 0) }

// seen puts versions of x into the cache, one after the other.
func seen(s *Objects[string, string], versions ...*Object[string]) {
	s.Replace(nil, at(0))
	for _, version := range versions {
		s.Put("x", version, at(0))
	}
}

// read completes a read of the stub x.
func read(s *Objects[string, string], content *Object[string]) {
	_, stub := s.Read("x")
	s.Content("x", stub, content, at(1))
}

// observe increases the owner's counter and returns it.
func observe(s *Objects[string, string], times int64) belief.Counter {
	counter := belief.Counter{Lease: types.UID("lease")}
	for counter.Count = 1; counter.Count <= times; counter.Count++ {
		s.Observe(at(int(counter.Count)*60), map[names.ClusterID]belief.Counter{"c1": counter})
	}
	counter.Count--
	return counter
}

func confirmed(believed, suspicious *Object[string], times int64, read *Object[string], refused bool) func(*Objects[string, string], *belief.Owner) {
	return func(s *Objects[string, string], _ *belief.Owner) {
		seen(s, believed, suspicious)
		counter := observe(s, times)
		counter.Refused = refused
		number, _ := s.Read("x")
		s.Confirm("x", number, read, counter, at(200))
	}
}
