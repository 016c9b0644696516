package epoch

import (
	"maps"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// object is a record, or a slice, of a member on the broker: "bx" or "bxs" for a member b.
type object struct {
	version uint64
	content int // later ones are greater
	marked  bool
}

type change struct {
	name string
	object
	deleted bool
}

func ownerOf(name string) string  { return name[:1] }
func recordOf(name string) string { return name[:2] }
func isSlice(name string) bool    { return len(name) == 3 }

// data is what the broker stores.
type data struct {
	place      string
	statements map[string]Statement
	objects    map[string]object
}

func (d data) clone() data {
	return data{d.place, maps.Clone(d.statements), maps.Clone(d.objects)}
}

// world is a broker, members that write to it, and one that has a copy of it and imports by that.
type world struct {
	t       *rapid.T
	judge   *Judge
	places  int
	clock   int64
	version uint64
	content int
	going   bool
	// restored tells that the broker was put back since the copy was last made anew: its watches have ended.
	// older tells that the own heartbeat, when it is read next, is an earlier one.
	restored, older bool

	alive    map[string]bool
	exported map[string]int // objects that members have, with the content that they had first and
	current  map[string]int // have now

	broker   data
	snapshot *data
	looking  *looking // nil for nobody is
	copy     map[string]object
	// records and slices are two watches, of which either may be late.
	records, slices []change
	withdrawn       map[string]bool
	imported        map[string]int // the content
}

func newWorld(t *rapid.T, members []string) *world {
	w := &world{
		t: t, judge: NewJudge(Memory{}), alive: map[string]bool{}, exported: map[string]int{}, current: map[string]int{},
		broker: data{"p", map[string]Statement{}, map[string]object{}}, copy: map[string]object{}, withdrawn: map[string]bool{}, imported: map[string]int{},
	}
	for _, id := range members {
		w.alive[id] = true
		w.publish(id)
	}
	w.relist()
	w.look()
	return w
}

func (w *world) write(name string, o object, deleted bool) {
	w.version++
	o.version = w.version
	if deleted {
		delete(w.broker.objects, name)
	} else {
		w.broker.objects[name] = o
	}
	into := &w.records
	if isSlice(name) {
		into = &w.slices
	}
	*into = append(*into, change{name, o, deleted})
}

// has has a member export something, or change it.
func (w *world) has(name string) {
	w.content++
	if w.exported[name] == 0 {
		w.exported[name] = w.content
	}
	w.current[name] = w.content
	w.write(name, object{content: w.content}, false)
}

// hasNot has a member withdraw something.
func (w *world) hasNot(name string) {
	delete(w.exported, name)
	delete(w.current, name)
	o, there := w.broker.objects[name]
	if there && !isSlice(name) {
		o.marked = true
		w.write(name, o, false)
	}
	if there {
		w.write(name, o, true)
	}
}

// lose has something go that nobody has withdrawn.
func (w *world) lose(name string) {
	if o, there := w.broker.objects[name]; there {
		w.write(name, o, true)
	}
}

// publish is what a member does that has noticed that it has to.
func (w *world) publish(id string) {
	seen := w.version
	for _, name := range slices.Sorted(maps.Keys(w.current)) {
		if content := w.current[name]; ownerOf(name) == id && w.broker.objects[name].content != content {
			w.write(name, object{content: content}, false)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.broker.objects)) {
		if ownerOf(name) == id && w.current[name] == 0 {
			w.hasNot(name)
		}
	}
	w.clock++
	w.broker.statements[id] = Statement{w.broker.place, w.clock, seen}
	if !w.restored {
		w.judge.Heard(id, w.broker.statements[id])
	}
}

// see has the copy show the next change that one of the watches brings.
func (w *world) see(watch *[]change) {
	if len(*watch) == 0 {
		return
	}
	c := (*watch)[0]
	*watch = (*watch)[1:]
	switch {
	case c.deleted && isSlice(c.name):
		if !w.withdrawn[recordOf(c.name)] {
			w.judge.Lacks(ownerOf(c.name), c.version)
		}
		delete(w.copy, c.name)
	case c.deleted:
		if !c.marked {
			w.judge.Vanished(ownerOf(c.name), c.version)
		}
		delete(w.copy, c.name)
	default:
		w.show(c.name, c.object)
	}
}

func (w *world) show(name string, o object) {
	if delete(w.copy, name); !o.marked {
		w.copy[name] = o
	}
	if !isSlice(name) {
		w.withdrawn[name] = o.marked
	}
}

// relist has the copy be made anew.
func (w *world) relist() {
	w.judge.Unsure()
	w.copy, w.records, w.slices, w.restored = map[string]object{}, nil, nil, false
	for name, o := range w.broker.objects {
		w.show(name, o)
	}
}

// looking is a look that has begun, and what it has read so far.
type looking struct {
	began          uint64
	members, whole bool // the members, and the rest, have been read
	Reading
}

// look begins a look, if nobody is looking, and ends it.
func (w *world) look() {
	w.looks()
	for w.looking != nil {
		w.looks()
	}
}

// looks has a look take its next step.
func (w *world) looks() {
	switch l := w.looking; {
	case l == nil:
		w.looking = &looking{began: w.judge.Begin()}
	case !l.members:
		l.members, l.Members, l.Version = true, maps.Clone(w.broker.statements), w.version
		if w.going {
			l.Members = nil
		}
	case !l.whole:
		l.whole, l.Place, l.Going = true, w.broker.place, w.going
		if w.older && l.Place == w.judge.Place() {
			w.judge.Back()
		}
		w.older = false
	default:
		l.Shown = map[string]bool{}
		for _, id := range w.judge.Candidates(l.Reading) {
			l.Shown[id] = w.shows(id)
		}
		w.judge.Looked(l.began, l.Reading)
		w.looking = nil
	}
}

// shows tells whether the copy shows all that there is of a member.
func (w *world) shows(id string) bool {
	for name, o := range w.broker.objects {
		if ownerOf(name) == id && !o.marked && w.copy[name].version < o.version {
			return false
		}
	}
	return true
}

// take has the copy be imported, as far as there are no doubts.
func (w *world) take() {
	was := maps.Clone(w.imported)
	for _, name := range names {
		of, doubts := recordOf(name), w.judge.Doubts(ownerOf(name)) && !w.withdrawn[recordOf(name)]
		o, there := w.copy[name]
		_, exported := w.copy[of]
		_, had := was[name]
		switch {
		case had && exported && w.judge.Outdated(ownerOf(name)), had && !exported && doubts:
		case exported && there:
			w.imported[name] = o.content
		case had && !doubts:
			delete(w.imported, name)
		}
		w.check(name, was)
	}
}

// check fails where something was taken away, or put back, that is there in its cluster.
func (w *world) check(name string, was map[string]int) {
	current := func(name string) bool { return w.exported[name] != 0 && was[name] >= w.exported[name] }
	if now := w.imported[name]; w.alive[ownerOf(name)] && current(recordOf(name)) && current(name) && now < was[name] {
		w.t.Fatalf("%s is there with content %d, since %d, and %d is imported in place of %d", name, w.current[name], w.exported[name], now, was[name])
	}
}

var names = []string{"bx", "bxs", "by", "bys", "cx", "cxs", "dx", "dxs"}

// TestNothingAliveIsTakenForWithdrawn has a broker that is wiped, put back and meddled with while
// members export and leave. What somebody exports and was imported is never taken away, nor replaced by an
// earlier state, and when all is quiet there are no doubts, and what is exported is imported. Pitfall 31.
func TestNothingAliveIsTakenForWithdrawn(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		members := []string{"b", "c", "d"}
		w := newWorld(t, members)
		anyMember, anyName := rapid.SampledFrom(members), rapid.SampledFrom(names)
		connected := func() bool { return !w.restored && !w.going }
		t.Repeat(map[string]func(*rapid.T){
			"has": func(t *rapid.T) {
				if name := anyName.Draw(t, "name"); w.alive[ownerOf(name)] && !w.going && (!isSlice(name) || w.current[recordOf(name)] != 0) {
					w.has(name)
				}
			},
			"has not": func(t *rapid.T) {
				if name := anyName.Draw(t, "name"); w.alive[ownerOf(name)] && !w.going {
					if !isSlice(name) && rapid.Bool().Draw(t, "slices first") {
						w.hasNot(name + "s")
					}
					if w.hasNot(name); !isSlice(name) {
						w.hasNot(name + "s")
					}
				}
			},
			"meddle": func(t *rapid.T) {
				name := anyName.Draw(t, "name")
				if !isSlice(name) && connected() && !w.older && w.judge.Place() == w.broker.place && w.copy[name] == w.broker.objects[name] { // else it is as if it had never been there
					w.lose(name)
				}
			},
			"snapshot": func(*rapid.T) {
				if connected() && !w.older && len(w.records) == 0 && w.judge.Place() == w.broker.place { // what nobody has seen and is restored is two faults at once
					d := w.broker.clone()
					w.snapshot = &d
				}
			},
			"restore": func(t *rapid.T) {
				if w.snapshot != nil && w.judge.unsure <= w.judge.looked && w.judge.Place() == w.broker.place { // else two faults at once
					// Where there has been a new broker since, with versions of its own, they may be lower than those that come back.
					older := w.snapshot.place == w.broker.place || rapid.Bool().Draw(t, "older")
					w.broker, w.going, w.restored, w.older = w.snapshot.clone(), false, true, older
					w.records, w.slices = nil, nil
				}
			},
			"wipe": func(*rapid.T) {
				if w.judge.Place() != w.broker.place && slices.Contains(w.judge.former, w.broker.place) {
					return // what was restored nobody has seen: two faults at once
				}
				w.going = true
				for _, name := range slices.Sorted(maps.Keys(w.broker.objects)) {
					w.lose(name)
				}
			},
			"make anew": func(*rapid.T) {
				if w.going {
					w.makeAnew()
				}
			},
			"rebuild": func(*rapid.T) {
				if w.judge.unsure <= w.judge.looked && w.judge.Place() == w.broker.place && !w.older { // else two faults at once
					w.rebuild()
				}
			},
			"publish": func(t *rapid.T) {
				if id := anyMember.Draw(t, "member"); w.alive[id] && !w.going {
					w.publish(id)
				}
			},
			"remove": func(t *rapid.T) {
				if id := anyMember.Draw(t, "member"); !w.going {
					w.remove(id)
				}
			},
			"see a record": func(*rapid.T) {
				if connected() {
					w.see(&w.records)
				}
			},
			"see a slice": func(*rapid.T) {
				if connected() {
					w.see(&w.slices)
				}
			},
			"relist": func(*rapid.T) {
				meddled := slices.ContainsFunc(w.records, func(c change) bool { return c.deleted && !c.marked })
				if connected() && !meddled || w.restored { // else nobody could tell what its member withdrew
					w.relist()
				}
			},
			"renew": func(*rapid.T) {
				if w.older && !w.going {
					w.judge.Back()
					w.older = false
				}
			},
			"look": func(*rapid.T) { w.looks() },
			"restart": func(*rapid.T) {
				if w.judge.Unseen() || len(w.records)+len(w.slices) > 0 || !connected() || w.older {
					return // two faults at once
				}
				w.judge, w.withdrawn, w.looking = NewJudge(w.judge.Memory()), map[string]bool{}, nil
				w.relist()
			},
			"": func(*rapid.T) { w.take() },
		})
		w.settle(members)
	})
}

func (w *world) makeAnew() {
	w.places++
	w.broker.place, w.broker.statements, w.going = "p"+string(rune('0'+w.places)), map[string]Statement{}, false
}

// rebuild has another broker be at the address: empty, and with lower versions. One of this member's replicas
// has made the own heartbeat anew there.
func (w *world) rebuild() {
	w.makeAnew()
	w.broker.objects, w.records, w.slices = map[string]object{}, nil, nil
	w.version, w.restored, w.older = 0, true, true
}

// remove is what the broker's administrator does about a member that is gone.
func (w *world) remove(id string) {
	w.alive[id] = false
	delete(w.broker.statements, id)
	for _, name := range names {
		if ownerOf(name) == id {
			delete(w.exported, name)
			delete(w.current, name)
			w.lose(name)
		}
	}
}

func (w *world) seeAll() {
	for len(w.records)+len(w.slices) > 0 {
		w.see(&w.slices)
		w.see(&w.records)
		w.take()
	}
}

// settle lets everybody do what there is to do, and checks what comes of it.
func (w *world) settle(members []string) {
	if w.going {
		w.makeAnew()
	}
	w.seeAll()
	w.relist()
	w.look()
	w.look()
	for _, id := range members {
		if w.alive[id] {
			w.publish(id)
			continue
		}
		// Removed once more, for it may be back, or nobody may know.
		w.broker.statements[id] = Statement{}
		w.look()
		w.remove(id)
	}
	w.seeAll()
	for range 3 {
		w.look()
		w.take()
	}
	for _, id := range members {
		if w.judge.Doubts(id) || w.judge.Outdated(id) {
			w.t.Fatalf("all is quiet, and there are doubts about %s: %+v", id, w.judge.members[id])
		}
	}
	for _, name := range names {
		if want, have := w.current[name], w.imported[name]; have != want {
			w.t.Fatalf("%s: imported %d, exported %d", name, have, want)
		}
	}
}
