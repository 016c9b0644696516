package view

import (
	"fmt"
	"maps"
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

// object is an object on the broker, or the import that is derived from it. A withdrawn object
// has no meaningful content.
type object struct {
	revision  int64
	withdrawn bool
	content   int
	wish      int // number of the owner's wish that the object fulfills
}

// broker is the state of the broker: objects by name, and the owner's Lease.
type broker struct {
	objects map[string]object
	counter belief.Counter
}

func (b broker) copy() broker { return broker{maps.Clone(b.objects), b.counter} }

// none is the content of a service that is not exported.
const none = 0

// desire is a state that the owner wants from a time on.
type desire struct {
	from    int
	content int
}

// model has an owner, a broker and an importer. A step takes a second.
type model struct {
	now     int
	leases  int
	broker  broker
	backups []broker

	wants    map[string][]desire // the last desire is current
	inputs   map[string]int64    // resource version of an object's source
	versions int64
	compares *broker // list that the current comparison has read

	imports map[string]object // objects that the importer has applied
	view    *Objects[string, object]
	since   map[string]int // start of each suspicion
	asked   []string       // names to read after a confirmation
	reading time.Time      // start of the current read of Leases
	read    belief.Counter // result of that read, if the broker answers at its start
}

var modelled = []string{"a", "b"}

func (m *model) time() time.Time { return time.Unix(int64(m.now), 0) }

func (m *model) wanted(name string) int {
	if all := m.wants[name]; len(all) > 0 {
		return all[len(all)-1].content
	}
	return none
}

// published reports whether the object on the broker, or its absence, is what the owner wants.
func (m *model) published(objects map[string]object, name string) bool {
	o, there := objects[name]
	if m.wanted(name) == none {
		return !there || o.withdrawn
	}
	return there && !o.withdrawn && o.content == m.wanted(name)
}

// publish writes the owner's wish to the broker.
func (m *model) publish(name string) {
	if m.published(m.broker.objects, name) {
		return
	}
	m.broker.objects[name] = object{max(m.broker.objects[name].revision+1, m.inputs[name]), m.wanted(name) == none, m.wanted(name), len(m.wants[name])}
}

// compareBegin and compareEnd are the owner's comparison.
func (m *model) compareBegin() { b := m.broker.copy(); m.compares = &b }

func (m *model) compareEnd() {
	list := m.compares
	if m.compares = nil; list == nil {
		return
	}
	right := true
	for _, name := range modelled {
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

// renew creates the owner's Lease if it is missing.
func (m *model) renew() {
	if m.broker.counter.Lease == "" {
		m.leases++
		m.broker.counter = belief.Counter{Lease: types.UID(fmt.Sprint(m.leases))}
	}
}

// found returns an object as a cache contains it, or nil.
func (m *model) found(name string) *Object[object] {
	o, there := m.broker.objects[name]
	if !there {
		return nil
	}
	state := border.Full
	if o.withdrawn {
		state = border.Withdrawn
	}
	return &Object[object]{Value: o, Revision: o.revision, State: state}
}

// apply is the importer's reconciler. confirmed is set if the owner has confirmed the current
// state.
func (m *model) apply(t *rapid.T, name string, confirmed bool) {
	m.view.Take()
	answer := m.view.Get(name)
	have, exists := m.imports[name]
	if answer.State == Unknown || answer.State == Kept {
		if m.since[name] == 0 {
			m.since[name] = m.now
		}
		return
	}
	var now object
	if answer.Object != nil {
		now = answer.Object.Value
	}
	if confirmed && !slices.ContainsFunc(m.wants[name], func(d desire) bool {
		i := slices.Index(m.wants[name], d)
		return d.content == now.content && (i == len(m.wants[name])-1 || m.wants[name][i+1].from >= m.since[name])
	}) && !(now.content == none && len(m.wants[name]) == 0) {
		t.Fatalf("second %d: the import of %s became %d, which the owner has not wanted since second %d: %v", m.now, name, now.content, m.since[name], m.wants[name])
	}
	if exists && !confirmed && answer.Object != nil && now.wish < have.wish {
		t.Fatalf("second %d: %s was wish %d and became %d", m.now, name, have.wish, now.wish)
	}
	delete(m.since, name)
	if delete(m.imports, name); answer.Object != nil {
		m.imports[name] = now
	}
}

// confirm completes the reads that the owner's confirmations caused.
func (m *model) confirm(t *rapid.T) {
	for _, name := range m.asked {
		if number, _ := m.view.Read(name); number > 0 {
			stands := m.view.suspects[name].counter.Stands(m.broker.counter) // an outdated confirmation counts only as an event
			m.view.Confirm(name, number, m.found(name), m.broker.counter, m.time())
			m.apply(t, name, stands)
		}
	}
	m.asked = nil
}

// readEnd completes a read of the Leases. The broker may have answered at the start of the
// read.
func (m *model) readEnd(atOnce bool) {
	counters, counter := map[names.ClusterID]belief.Counter{}, m.broker.counter
	if atOnce {
		counter = m.read
	}
	if counter.Lease != "" {
		counters["owner"] = counter
	}
	m.view.Observe(m.reading, counters)
	_, reads := m.view.Take()
	m.asked = append(m.asked, reads...)
	m.reading = time.Time{}
}

// restart starts a new importer with the applied imports and the broker's current objects.
func (m *model) restart(t *rapid.T) {
	m.view = NewObjects(Rules[string, object]{
		Owner: func(string) names.ClusterID { return "owner" }, OwnerState: func(string, types.NamespacedName, object) belief.Owner { return belief.Owner{} },
		Service: func(string, object) types.NamespacedName { return types.NamespacedName{} }, Compare: strings.Compare, Same: func(a, b object) bool { return a == b },
	})
	m.since, m.asked, m.reading = map[string]int{}, nil, time.Time{}
	for name, have := range m.imports {
		m.view.Applied(name, types.NamespacedName{}, have.revision)
	}
	m.connect(t)
}

// connect opens a new connection, which replays all objects.
func (m *model) connect(t *rapid.T) {
	all := map[string]*Object[object]{}
	for _, name := range modelled {
		if found := m.found(name); found != nil {
			all[name] = found
		}
	}
	m.view.Replace(all, m.time())
	for _, name := range modelled {
		m.apply(t, name, false)
	}
}

// Pitfall 31: whatever happens to the broker, and whichever program restarts or lags, an import
// becomes older or is deleted only if its owner has wanted that since the suspicion began, or
// has confirmed it. In the end the import is what the owner wants.
func TestModel(t *testing.T) {
	for range 100 { // with 100 histories each
		rapid.Check(t, history)
	}
}

// history runs a random sequence of events.
func history(t *rapid.T) {
	m := &model{
		now: 1, broker: broker{objects: map[string]object{}}, wants: map[string][]desire{}, inputs: map[string]int64{}, versions: 1,
		imports: map[string]object{},
	}
	m.restart(t)
	m.renew()
	name := rapid.SampledFrom(modelled)
	deliver := func(t *rapid.T, n string) {
		m.view.Put(n, m.found(n), m.time())
		m.apply(t, n, false)
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
		"delete": func(t *rapid.T) { // an administrator deletes an object; twice within a minute is a known limitation (docs/explanation/faults.md)
			if n := name.Draw(t, "name"); m.since[n] == 0 {
				delete(m.broker.objects, n)
			}
		},
		"event":   func(t *rapid.T) { deliver(t, name.Draw(t, "name")) },
		"connect": m.connect,
		"confirm": m.confirm,
		"read": func(t *rapid.T) {
			m.readEnd(rapid.Bool().Draw(t, "answered at once")) // the read began earlier
			m.reading, m.read = m.time(), m.broker.counter
		},
		"wholeRead": func(*rapid.T) { m.reading = m.time(); m.readEnd(false) },
		"restart":   m.restart,
		"":          func(*rapid.T) { m.now++ },
	})
	for range 4 { // everybody acts
		m.now++
		m.compareBegin()
		m.compareEnd()
		m.connect(t)
		m.now++
		m.reading = m.time()
		m.readEnd(false)
		m.confirm(t)
	}
	for _, n := range modelled {
		have, exists := m.imports[n]
		if exists != (m.wanted(n) != none) || exists && have.content != m.wanted(n) {
			t.Fatalf("%s is %+v (%t), but its owner wants %d", n, have, exists, m.wanted(n))
		}
	}
}
