package belief

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestDecide(t *testing.T) {
	for _, tt := range []struct {
		name    string
		applied Applied
		found   *Found
		owner   Owner
		want    Verdict
	}{
		{"new", Applied{}, &Found{Revision: 1}, Owner{}, Apply},
		{"the same", Applied{7, true}, &Found{Revision: 7}, Owner{}, Apply},
		{"higher", Applied{7, true}, &Found{Revision: 8}, Owner{}, Apply},
		{"withdrawn", Applied{7, true}, &Found{8, true}, Owner{}, Remove},
		{"missing", Applied{7, true}, nil, Owner{}, Keep},
		{"lower", Applied{7, true}, &Found{Revision: 6}, Owner{}, Keep},
		{"lower and withdrawn", Applied{7, true}, &Found{6, true}, Owner{}, Keep},
		{"unreadable", Applied{7, true}, &Found{}, Owner{}, Keep},
		{"new and unreadable", Applied{}, &Found{}, Owner{}, Keep},
		{"ended, and lower", Applied{7, false}, &Found{Revision: 6}, Owner{}, Keep},
		{"ended, and again", Applied{7, false}, &Found{Revision: 8}, Owner{}, Apply},
		{"ended, and gone", Applied{7, false}, nil, Owner{}, Remove},
		{"missing, confirmed", Applied{7, true}, nil, Owner{Confirmed: true}, Remove},
		{"missing, confirmed, while something is refused", Applied{7, true}, nil, Owner{Confirmed: true, Refused: true}, Keep},
		{"lower, confirmed, while something is refused", Applied{7, true}, &Found{Revision: 6}, Owner{Confirmed: true, Refused: true}, Apply},
		{"lower, confirmed", Applied{7, true}, &Found{Revision: 6}, Owner{Confirmed: true}, Apply},
		{"lower and withdrawn, confirmed", Applied{7, true}, &Found{6, true}, Owner{Confirmed: true}, Remove},
		{"missing, lost", Applied{7, true}, nil, Owner{Lost: true}, Remove},
		{"there, lost", Applied{7, true}, &Found{Revision: 7}, Owner{Lost: true}, Apply},
		{"removed", Applied{7, true}, &Found{Revision: 9}, Owner{Removed: true}, Remove},
	} {
		if got := Decide(tt.applied, tt.found, tt.owner); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

// object is one on the broker, or what is made of it. The content of one that is withdrawn means nothing.
type object struct {
	revision  int64
	withdrawn bool
	content   int
	wish      int // of its owner that it fulfils
}

// broker is what is stored: objects by name, and the owner's Lease.
type broker struct {
	objects map[string]object
	counter Counter
}

func (b broker) copy() broker { return broker{maps.Clone(b.objects), b.counter} }

// none is the content of what is not exported.
const none = 0

// desire is what the owner wanted of an object from a time on.
type desire struct {
	from    int
	content int
}

// model is an owner, a broker and an importer. One step takes one second.
type model struct {
	now     int
	leases  int
	broker  broker
	backups []broker

	wants    map[string][]desire // the last one counts
	inputs   map[string]int64    // the resource version of what an object is made of
	versions int64
	compares *broker // the list that a comparison in progress has read

	imports    map[string]object
	ended      map[string]int64
	cache      map[string]object
	since      map[string]int // when each suspicion began
	suspicions *Suspicions
	reading    time.Time // when a read of Leases in progress began
	read       Counter   // what it found, if it is answered at once
}

var objects = []string{"a", "b"}

func (m *model) time() time.Time { return time.Unix(int64(m.now), 0) }

func (m *model) wanted(name string) int {
	if all := m.wants[name]; len(all) > 0 {
		return all[len(all)-1].content
	}
	return none
}

// published tells whether an object on the broker, or none, says what the owner wants.
func (m *model) published(objects map[string]object, name string) bool {
	o, there := objects[name]
	if m.wanted(name) == none {
		return !there || o.withdrawn
	}
	return there && !o.withdrawn && o.content == m.wanted(name)
}

// publish makes an object on the broker what the owner wants.
func (m *model) publish(name string) {
	if m.published(m.broker.objects, name) {
		return
	}
	m.broker.objects[name] = object{max(m.broker.objects[name].revision+1, m.inputs[name]), m.wanted(name) == none, m.wanted(name), len(m.wants[name])}
}

// compareBegin and compareEnd are a comparison of the owner's.
func (m *model) compareBegin() { b := m.broker.copy(); m.compares = &b }

func (m *model) compareEnd() {
	list := m.compares
	if m.compares = nil; list == nil {
		return
	}
	right := true
	for _, name := range objects {
		if !m.published(list.objects, name) {
			right = false
			m.publish(name)
		}
	}
	switch {
	case m.broker.counter.Lease == "":
		m.renew()
	case right && m.broker.counter == list.counter:
		m.broker.counter.Count++
	}
}

// renew makes the owner's Lease if there is none.
func (m *model) renew() {
	if m.broker.counter.Lease == "" {
		m.leases++
		m.broker.counter = Counter{Lease: types.UID(fmt.Sprint(m.leases))}
	}
}

// reconcile is the importer's controller.
func (m *model) reconcile(t *rapid.T, name string) {
	have, exists := m.imports[name]
	applied := Applied{have.revision, exists}
	if !exists {
		applied.Revision = m.ended[name]
	}
	find := func(objects map[string]object) (object, *Found) {
		o, there := objects[name]
		if !there {
			return o, nil
		}
		return o, &Found{o.revision, o.withdrawn}
	}
	o, found := find(m.cache)
	verdict := Decide(applied, found, Owner{})
	confirmed := false
	if verdict == Keep {
		var by Counter
		by, confirmed = m.suspicions.Suspect(name, "owner", m.time(), func() { m.reconcile(t, name) })
		if m.since[name] == 0 {
			m.since[name] = m.now
		}
		if !confirmed {
			return
		}
		if !by.Stands(m.broker.counter) {
			m.suspicions.Clear(name)
			m.suspicions.Suspect(name, "owner", m.time(), func() { m.reconcile(t, name) })
			return
		}
		o, found = find(m.broker.objects)
		verdict = Decide(applied, found, Owner{Confirmed: true})
	}
	result := none
	if verdict == Apply {
		result = o.content
	}
	if confirmed && !slices.ContainsFunc(m.wants[name], func(d desire) bool {
		i := slices.Index(m.wants[name], d)
		return d.content == result && (i == len(m.wants[name])-1 || m.wants[name][i+1].from >= m.since[name])
	}) && !(result == none && len(m.wants[name]) == 0) {
		t.Fatalf("second %d: %s became %d, which its owner has not wanted since second %d: %v", m.now, name, result, m.since[name], m.wants[name])
	}
	if exists && !confirmed && o.wish < have.wish {
		t.Fatalf("second %d: %s was wish %d and became %d", m.now, name, have.wish, o.wish)
	}
	m.suspicions.Clear(name)
	delete(m.since, name)
	if verdict == Apply {
		m.imports[name] = o
		delete(m.ended, name)
	} else if delete(m.imports, name); found != nil {
		m.ended[name] = o.revision
	}
}

// readEnd is the end of a read of the Leases, which may have been answered when it began.
func (m *model) readEnd(atOnce bool) {
	counters, counter := map[names.ClusterID]Counter{}, m.broker.counter
	if atOnce {
		counter = m.read
	}
	if counter.Lease != "" {
		counters["owner"] = counter
	}
	m.suspicions.Observe(m.reading, counters)
	m.reading = time.Time{}
}

func (m *model) restart() {
	m.suspicions, m.ended, m.since, m.reading = NewSuspicions(), map[string]int64{}, map[string]int{}, time.Time{}
}

// Pitfall 31: whatever happens to the broker, and whoever restarts or is late: what is imported becomes older or goes only if its owner has wanted it so since it became
// suspicious, or has said so; and in the end it is what the owner wants.
func TestModel(t *testing.T) {
	for range 100 { // with 100 histories each
		rapid.Check(t, history)
	}
}

// history is what may happen.
func history(t *rapid.T) {
	m := &model{
		now: 1, broker: broker{objects: map[string]object{}}, wants: map[string][]desire{}, inputs: map[string]int64{}, versions: 1,
		imports: map[string]object{}, cache: map[string]object{},
	}
	m.restart()
	m.renew()
	name := rapid.SampledFrom(objects)
	deliver := func(n string) {
		if delete(m.cache, n); m.broker.objects[n] != (object{}) {
			m.cache[n] = m.broker.objects[n]
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"want": func(t *rapid.T) {
			n := name.Draw(t, "name")
			d := desire{m.now, rapid.IntRange(none, 2).Draw(t, "content")}
			m.versions++ // the end of an export is a write in its cluster too
			if m.wants[n] = append(m.wants[n], d); d.content != none {
				m.inputs[n] = m.versions
			}
			if rapid.Bool().Draw(t, "at once") {
				m.publish(n)
			}
		},
		"compare":      func(*rapid.T) { m.compareBegin() },
		"compared":     func(*rapid.T) { m.compareEnd() },
		"ownerRestart": func(*rapid.T) { m.compares = nil; m.renew() },
		"backup":       func(*rapid.T) { m.backups = append(m.backups, m.broker.copy()) },
		"restore": func(t *rapid.T) {
			m.reading = time.Time{} // connections end
			if len(m.backups) > 0 { // to go back, and then forward again, within a minute is a known corner (docs/explanation/faults.md)
				i := rapid.IntRange(0, len(m.backups)-1).Draw(t, "backup")
				m.broker, m.backups = m.backups[i].copy(), m.backups[:i+1]
			}
			if rapid.Bool().Draw(t, "wiped") {
				m.broker = broker{objects: map[string]object{}}
			}
		},
		"delete": func(t *rapid.T) { // one object by hand: twice within a minute is a known corner (docs/explanation/faults.md)
			if n := name.Draw(t, "name"); m.since[n] == 0 {
				delete(m.broker.objects, n)
			}
		},
		"event": func(t *rapid.T) { deliver(name.Draw(t, "name")) },
		"importer": func(t *rapid.T) {
			for _, n := range objects {
				deliver(n)
				m.reconcile(t, n)
			}
		},
		"read": func(t *rapid.T) {
			m.readEnd(rapid.Bool().Draw(t, "answered at once")) // one that began earlier
			m.reading, m.read = m.time(), m.broker.counter
		},
		"wholeRead": func(*rapid.T) { m.reading = m.time(); m.readEnd(false) },
		"restart":   func(*rapid.T) { m.restart() },
		"":          func(*rapid.T) { m.now++ },
	})
	for range 4 { // everybody acts
		m.now++
		m.compareBegin()
		m.compareEnd()
		m.cache = maps.Clone(m.broker.objects)
		for _, n := range objects {
			m.reconcile(t, n)
		}
		m.now++
		m.reading = m.time()
		m.readEnd(false)
	}
	for _, n := range objects {
		have, exists := m.imports[n]
		if exists != (m.wanted(n) != none) || exists && have.content != m.wanted(n) {
			t.Fatalf("%s is %+v (%t), but its owner wants %d", n, have, exists, m.wanted(n))
		}
	}
}

// What an owner has confirmed has to be read soon after, and while its Lease is the one by which it has.
func TestConfirmationEnds(t *testing.T) {
	s, start, told := NewSuspicions(), time.Unix(0, 0), 0
	tell := func() { told++ }
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	confirm := func(second int) {
		for i := range 3 {
			s.Observe(at(second+i), map[names.ClusterID]Counter{"owner": {Lease: "lease", Count: int64(second + i)}})
		}
	}
	s.Suspect("x", "owner", at(0), tell)
	confirm(1)
	if by, confirmed := s.Suspect("x", "owner", at(60), tell); !confirmed || told != 1 || by != (Counter{Lease: "lease", Count: 3}) {
		t.Errorf("%v by %v, told %d times", confirmed, by, told)
	}
	if _, confirmed := s.Suspect("x", "owner", at(64), tell); confirmed {
		t.Error("it still counts after more than a minute")
	}
	confirm(65)
	if _, confirmed := s.Suspect("x", "owner", at(70), tell); !confirmed || told != 2 {
		t.Errorf("%v, told %d times", confirmed, told)
	}
	by := Counter{Lease: "lease", Count: 7}
	if !by.Stands(by) || !by.Stands(Counter{Lease: "lease", Count: 8}) || by.Stands(Counter{Lease: "lease", Count: 6}) || by.Stands(Counter{Lease: "other", Count: 8}) {
		t.Error("what stands is told wrongly")
	}
}

// The broker's Leases are read as long as a suspicion waits for its owner's comparisons.
func TestWaiting(t *testing.T) {
	s, start := NewSuspicions(), time.Unix(1000, 0)
	if s.Waiting() {
		t.Error("without suspicions it waits")
	}
	s.Suspect("a", "c1", start, func() {})
	s.Suspect("b", "c2", start, func() {})
	for count, waits := range []bool{true, true, false} { // the first read only learns the counters
		both := Counter{Lease: "1", Count: int64(count + 1)}
		s.Observe(start.Add(time.Duration(count+1)*time.Second), map[names.ClusterID]Counter{"c1": both})
		if !s.Waiting() {
			t.Errorf("after %d reads it does not wait for c2", count+1)
		}
		s.Observe(start.Add(time.Duration(count+1)*time.Second), map[names.ClusterID]Counter{"c2": both})
		if s.Waiting() != waits {
			t.Errorf("after %d reads it waits: %t", count+1, !waits)
		}
	}
	if s.Suspect("c", "c3", start, func() {}); !s.Waiting() {
		t.Error("it does not wait for a new suspicion")
	}
	if s.Clear("c"); s.Waiting() {
		t.Error("it waits for a cleared suspicion")
	}
}
