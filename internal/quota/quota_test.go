package quota

import (
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func of(name string, units int) []Item { return []Item{{name, units}} }

func expect(t *testing.T, what string, got, want []int) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// What is there stays, what comes later waits in its turn, and other members have nothing to do with it.
func TestQuota(t *testing.T) {
	q := New[string](10)
	expect(t, "the first", q.Take("c1", "a", of("x", 6), true), []int{6})
	expect(t, "what is left", q.Take("c1", "b", of("x", 6), true), []int{4})
	expect(t, "nothing is left", q.Take("c1", "c", of("x", 1), true), []int{0})
	expect(t, "another member", q.Take("c2", "c", of("x", 10), true), []int{10})
	expect(t, "the first stays", q.Take("c1", "a", of("x", 6), true), []int{6})
	expect(t, "it can't grow", q.Take("c1", "a", []Item{{"w", 3}, {"x", 6}}, true), []int{0, 6})
	if diff := cmp.Diff(map[string]int{"c1": 6, "c2": 0}, q.Lacking()); diff != "" {
		t.Errorf("lacking (-want +got):\n%s", diff)
	}
	if next, found := q.Next("c1"); found {
		t.Errorf("there is nothing for %s", next)
	}
	if !q.Lacks("c1", "b") || q.Lacks("c2", "c") || q.Lacks("c3", "a") {
		t.Error("who lacks something")
	}
	for group, want := range map[string][]string{"a": {"c1"}, "b": {"c1"}, "c": {"c1", "c2"}, "d": nil} {
		if got := q.Members(group); !slices.Equal(got, want) {
			t.Errorf("of %s members are %v, want %v", group, got, want)
		}
	}

	expect(t, "one slice of it goes", q.Take("c1", "a", of("x", 0), false), []int{0})
	for _, want := range []string{"b", "c", "a"} {
		next, found := q.Next("c1")
		if next != want || !found {
			t.Fatalf("next is %q, %v, want %q", next, found, want)
		}
		expect(t, next, q.Take("c1", next, of("x", map[string]int{"b": 6, "c": 1, "a": 2}[next]), true), []int{map[string]int{"b": 6, "c": 1, "a": 2}[next]})
	}
	if next, found := q.Next("c1"); found || q.Lacking()["c1"] > 0 {
		t.Errorf("%s waits still: %v", next, q.Lacking())
	}
	for _, group := range []string{"a", "b", "c"} {
		q.Take("c1", group, nil, true)
	}
	q.Take("c2", "c", nil, true)
	if len(q.members) > 0 {
		t.Errorf("remembered: %v", q.members)
	}
}

func TestNoLimit(t *testing.T) {
	q := New[string](0)
	expect(t, "any number", q.Take("c1", "a", of("x", 1e9), true), []int{1e9})
	if _, found := q.Next("c1"); found || len(q.members) > 0 {
		t.Error("it is counted")
	}
}

// Whatever is asked for in whatever order: a member never has more than its limit, nothing that
// stays as large as it was loses anything, and once all that wait have been woken, there is
// nothing left that anybody lacks.
func TestQuotaProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const limit = 12
		q := New[string](limit)
		wants := map[string]map[string]int{} // by group and item
		has := map[string]map[string]int{}
		take := func(group string, items []Item, all bool) {
			granted := q.Take("c1", group, items, all)
			before := has[group]
			if all {
				has[group] = map[string]int{}
			}
			for i, item := range items {
				if granted[i] > item.Units || granted[i] < min(item.Units, before[item.Name]) {
					t.Fatalf("%s/%s had %d, wants %d, got %d", group, item.Name, before[item.Name], item.Units, granted[i])
				}
			}
			for i, item := range items {
				has[group][item.Name] = granted[i]
			}
		}
		whole := func(group string) {
			var items []Item
			for _, name := range slices.Sorted(maps.Keys(wants[group])) {
				items = append(items, Item{name, wants[group][name]})
			}
			take(group, items, true)
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			group := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "group")
			item := rapid.SampledFrom([]string{"x", "y"}).Draw(t, "item")
			units := rapid.IntRange(0, 9).Draw(t, "units")
			if wants[group] == nil {
				wants[group], has[group] = map[string]int{}, map[string]int{}
			}
			wants[group][item] = units
			if rapid.Bool().Draw(t, "all") {
				whole(group)
			} else {
				take(group, of(item, units), false)
			}
			for woken := 0; ; woken++ {
				next, found := q.Next("c1")
				if !found {
					break
				}
				if woken > 3 {
					t.Fatalf("%s is woken again and again", next)
				}
				whole(next)
			}
			total, lack := 0, 0
			for group, items := range wants {
				for item, units := range items {
					total += has[group][item]
					lack += units - has[group][item]
				}
			}
			if total > limit || lack > 0 && total < limit {
				t.Fatalf("has %d, lacks %d: %v of %v", total, lack, has, wants)
			}
			if lack != q.Lacking()["c1"] {
				t.Fatalf("lacks %d, told %v", lack, q.Lacking())
			}
		}
	})
}
