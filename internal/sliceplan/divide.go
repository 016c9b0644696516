package sliceplan

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// part is one of the slices among which the endpoints of one source slice are divided.
type part struct {
	number    int
	endpoints []discoveryv1.Endpoint
}

// divide divides a source slice's endpoints among parts of at most limit, and changes have,
// the parts that there are, as little as possible. Endpoints keep their part and their
// order in it, whatever their order in the source is; new ones come last. The result is
// sorted by number and never empty.
//
// As in KEP-0752 ("EndpointSlice Controller"), new endpoints go where something changes
// anyway, then into the one part that they just fit in, and only then into a new one. So
// a source within the limit is one part, and one endpoint's change is the change of one
// part. Other than there, parts that are less than half full on average are joined: see
// join.
func divide(endpoints []discoveryv1.Endpoint, have []part, limit int) []part {
	d := division{limit: limit}
	d.add(d.keep(endpoints, have))
	d.drop()
	d.join(len(endpoints))
	slices.SortFunc(d.shares, func(a, b *share) int { return cmp.Compare(a.number, b.number) })
	parts := make([]part, len(d.shares))
	for i, s := range d.shares {
		parts[i] = s.part
	}
	return parts
}

// division is a division in the making.
type division struct {
	limit  int
	shares []*share
}

// share is a part in the making.
type share struct {
	part
	changed bool // it differs from what there is
}

func (s *share) room(limit int) int { return limit - len(s.endpoints) }

// keep leaves endpoints in the parts where they are, and returns those that are in none.
func (d *division) keep(endpoints []discoveryv1.Endpoint, have []part) (added []discoveryv1.Endpoint) {
	waiting := indexEndpoints(endpoints)
	kept := make([]bool, len(endpoints))
	for _, h := range have {
		s := &share{part: part{number: h.number, endpoints: make([]discoveryv1.Endpoint, 0, min(len(h.endpoints)+1, d.limit))}}
		for i := range h.endpoints {
			if s.room(d.limit) == 0 {
				break
			}
			at, found := waiting.take(&h.endpoints[i])
			if !found {
				continue
			}
			kept[at] = true
			s.endpoints = append(s.endpoints, endpoints[at])
			s.changed = s.changed || !sameEndpoint(&h.endpoints[i], &endpoints[at])
		}
		s.changed = s.changed || len(s.endpoints) < len(h.endpoints) || len(s.endpoints) == 0
		d.shares = append(d.shares, s)
	}
	for i := range endpoints {
		if !kept[i] {
			added = append(added, endpoints[i])
		}
	}
	return added
}

// add finds places for endpoints that are in no part yet.
func (d *division) add(added []discoveryv1.Endpoint) {
	for _, s := range d.shares {
		if s.changed {
			n := min(s.room(d.limit), len(added))
			s.endpoints = append(s.endpoints, added[:n]...)
			added = added[n:]
		}
	}
	for len(added) > d.limit {
		d.open(added[:d.limit])
		added = added[d.limit:]
	}
	if len(added) == 0 {
		return
	}
	if s := d.tightest(len(added), nil); s != nil {
		s.endpoints, s.changed = append(s.endpoints, added...), true
	} else {
		d.open(added)
	}
}

// open begins a part with the lowest number that is free.
func (d *division) open(endpoints []discoveryv1.Endpoint) {
	number := 0
	for slices.ContainsFunc(d.shares, func(s *share) bool { return s.number == number }) {
		number++
	}
	d.shares = append(d.shares, &share{part: part{number: number, endpoints: slices.Clone(endpoints)}, changed: true})
}

// tightest returns the fullest share with room for n endpoints, if there is one other than
// except.
func (d *division) tightest(n int, except *share) *share {
	var best *share
	for _, s := range d.shares {
		if room := s.room(d.limit); s != except && room >= n && (best == nil || room < best.room(d.limit)) {
			best = s
		}
	}
	return best
}

// drop takes away parts without endpoints, but for one that stands for a source without.
func (d *division) drop() {
	all := d.shares
	d.shares = slices.DeleteFunc(slices.Clone(all), func(s *share) bool { return len(s.endpoints) == 0 })
	switch {
	case len(d.shares) > 0:
	case len(all) > 0:
		d.shares = all[:1]
	default:
		d.open(nil)
	}
}

// join joins the emptiest part with another one, as long as the parts that remain are
// half full at most on average. It takes as many removals as half a slice has endpoints
// until that happens again, so it costs next to nothing, and a source that has shrunk
// does not stay in pieces. There is always room: of the others one at least is half full
// at most, and the emptiest has less than that.
func (d *division) join(endpoints int) {
	for len(d.shares) > 1 && 2*endpoints <= (len(d.shares)-1)*d.limit {
		emptiest := slices.MinFunc(d.shares, func(a, b *share) int {
			return cmp.Or(cmp.Compare(len(a.endpoints), len(b.endpoints)), cmp.Compare(b.number, a.number))
		})
		into := d.tightest(len(emptiest.endpoints), emptiest)
		into.endpoints, into.changed = append(into.endpoints, emptiest.endpoints...), true
		d.shares = slices.DeleteFunc(d.shares, func(s *share) bool { return s == emptiest })
	}
}
