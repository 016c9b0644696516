package share

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// The oldest services depend on what is there, not on the order of changes, and each service whose answer changes is named.
func TestOldest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.IntRange(0, 5).Draw(t, "limit")
		o, all := NewOldest(limit), map[types.NamespacedName]time.Time{}
		for range rapid.IntRange(1, 60).Draw(t, "changes") {
			service := types.NamespacedName{Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace"), Name: fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "name"))}
			before := maps.Collect(answers(o, all))
			var changed []types.NamespacedName
			if rapid.Bool().Draw(t, "delete") {
				delete(all, service)
				changed = o.Delete(service)
			} else {
				all[service] = time.Unix(rapid.Int64Range(0, 3).Draw(t, "at"), 0)
				changed = o.Set(service, all[service])
			}
			want := slices.SortedFunc(maps.Keys(all), func(a, b types.NamespacedName) int {
				return cmp.Or(all[a].Compare(all[b]), cmp.Compare(a.String(), b.String()))
			})
			for i, s := range want {
				if o.Exceeds(s) != (i >= limit) {
					t.Fatalf("Exceeds(%s) is %v: it is number %d of %d, the limit is %d", s, o.Exceeds(s), i, len(want), limit)
				}
				if was, there := before[s]; there && was != o.Exceeds(s) && !slices.Contains(changed, s) {
					t.Fatalf("the answer for %s has changed, but %v are named", s, changed)
				}
			}
			if o.TooMany() != max(0, len(want)-limit) {
				t.Fatalf("%d of %d are too many", o.TooMany(), len(want))
			}
		}
	})
}

func answers(o *Oldest, all map[types.NamespacedName]time.Time) func(func(types.NamespacedName, bool) bool) {
	return func(yield func(types.NamespacedName, bool) bool) {
		for s := range all {
			if !yield(s, o.Exceeds(s)) {
				return
			}
		}
	}
}
