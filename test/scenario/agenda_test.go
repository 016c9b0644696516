package scenario

import (
	"cmp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// agenda deals out forms of scripts to workers that have a lab each, such that few labs
// have to be started: a worker goes on with what its lab serves, then begins with what no
// other has begun, and last helps the others where that saves more than a lab costs.
type agenda struct {
	mu     sync.Mutex
	groups []*group // in the order in which they are begun: the largest first
}

// group holds the forms that are left of those that can share a lab.
type group struct {
	shape Shape // serves all of them
	forms []form
	begun bool
}

// worthALab is how many forms must be left for another lab to be started for them: one
// takes as long as a form or two.
const worthALab = 4

func newAgenda(forms []form) *agenda {
	// The most demanding shapes first, for they serve others too; then with one DNS after
	// the other.
	forms = slices.Clone(forms)
	slices.SortStableFunc(forms, func(a, b form) int {
		return cmp.Or(first(!a.shape.Bare, !b.shape.Bare), first(a.shape.Hub, b.shape.Hub), b.shape.Clusters-a.shape.Clusters, cmp.Compare(a.shape.DNS, b.shape.DNS))
	})
	a := &agenda{}
	for _, f := range forms {
		i := slices.IndexFunc(a.groups, func(g *group) bool { return g.shape.Serves(f.shape) })
		if i < 0 {
			i = len(a.groups)
			a.groups = append(a.groups, &group{shape: f.shape})
		}
		a.groups[i].forms = append(a.groups[i].forms, f)
	}
	// Long forms first, so that a worker is not left with one at the end while the others are idle.
	for _, g := range a.groups {
		slices.SortStableFunc(g.forms, func(x, y form) int {
			return cmp.Or(cmp.Compare(x.shape.DNS, y.shape.DNS), y.weight()-x.weight())
		})
	}
	slices.SortStableFunc(a.groups, func(x, y *group) int { return len(y.forms) - len(x.forms) })
	return a
}

// weight is 2 for the scripts that take longest: they break clusters, or wait for the clusters' own view. It is 0 for what is no
// script: that breaks its lab, so that it comes last.
func (f form) weight() int {
	switch {
	case f.script == nil:
		return 0
	case f.script.looksBeyondItsNamespaces():
		return 2
	}
	return 1
}

// first puts what a condition holds for before what it does not.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// next takes a form for a worker whose lab serves the group last, which is nil before the
// first. It returns no form when there is nothing left for the worker to do.
func (a *agenda) next(last *group) (*form, *group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	g := a.choose(last)
	if g == nil {
		return nil, nil
	}
	g.begun = true
	f := g.forms[0]
	g.forms = g.forms[1:]
	return &f, g
}

func (a *agenda) choose(last *group) *group {
	if last != nil && len(last.forms) > 0 {
		return last
	}
	var most *group
	for _, g := range a.groups {
		switch {
		case !g.begun:
			return g
		case len(g.forms) >= worthALab && (most == nil || len(g.forms) > len(most.forms)):
			most = g
		}
	}
	return most
}

func TestAgenda(t *testing.T) {
	ipv4 := Shape{Clusters: 3, Nodes: 1, IPFamily: IPv4}
	dual := Shape{Clusters: 3, Nodes: 1, IPFamily: Dual}
	smaller, bare := ipv4, ipv4
	smaller.Clusters, bare.Bare = 2, true
	var forms []form
	for names, shape := range map[string]Shape{"b": bare, "s": smaller, "de": dual, "fghijk": ipv4} {
		for _, name := range names {
			forms = append(forms, form{name: string(name), shape: shape})
		}
	}
	slices.SortFunc(forms, func(a, b form) int { return strings.Compare(a.name, b.name) })
	// What each worker does when they take turns.
	for name, want := range map[string][]string{
		"one does all, in as few labs as there are groups":   {"fghijksbde"},
		"who has done its own helps with the largest":        {"fghjs", "deikb"},
		"who finds no more work that is worth a lab is done": {"fhjs", "de", "gikb"},
	} {
		t.Run(name, func(t *testing.T) {
			agenda := newAgenda(forms)
			did := make([]string, len(want))
			groups := make([]*group, len(want))
			done := make([]bool, len(want))
			for slices.Contains(done, false) {
				for i := range want {
					f, g := agenda.next(groups[i])
					if groups[i] = g; f == nil {
						done[i] = true
						continue
					}
					if !g.shape.Serves(f.shape) {
						t.Errorf("%s is in a group of %+v", f.name, g.shape)
					}
					did[i] += f.name
				}
			}
			if !slices.Equal(did, want) {
				t.Errorf("they did %q, want %q", did, want)
			}
		})
	}
}
