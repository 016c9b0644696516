package border

import (
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// counted is a slice as TestBudget knows it.
type counted struct {
	of   kit.Scope
	size Size
	kept bool
}

// The budget always matches the held slices; none of its limits is exceeded but by what is kept; what waits is too much, and has
// room again when the use has fallen to 90 % of each limit, the oldest first.
func TestBudget(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limits := Limits{Endpoints: 100, InNamespace: 60, Bytes: 1000, Total: 1500}
		waits, held := map[string]counted{}, map[string]counted{}
		since := func(name string) time.Time { return time.Unix(int64(name[1]), 0) }
		var released []string
		budget := NewBudget(limits, func(slice kit.Scope) {
			name := slice.Slice.Name
			held[name] = waits[name]
			delete(waits, name)
			released = append(released, name)
		})
		some := func(t *rapid.T) (string, counted) {
			slice := kit.Scope{Member: rapid.SampledFrom([]names.ClusterID{"c2", "c3"}).Draw(t, "member")}
			slice.Slice.Namespace = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
			slice.Slice.Name = fmt.Sprintf("s%d.%s.%s", rapid.IntRange(0, 5).Draw(t, "slice"), slice.Slice.Namespace, slice.Member)
			return slice.Slice.Name, counted{of: slice, size: Size{rapid.Int64Range(1, 40).Draw(t, "endpoints"), rapid.Int64Range(1, 400).Draw(t, "bytes")}}
		}
		forget := func(name string) {
			delete(held, name)
			delete(waits, name)
		}
		t.Repeat(map[string]func(*rapid.T){
			"hold": func(t *rapid.T) {
				name, c := some(t)
				had := held[name]
				c.kept = had.kept && c.size.Endpoints <= had.size.Endpoints && c.size.Bytes <= had.size.Bytes // it stays, whatever the use
				forget(name)
				waits[name] = c
				if ok, _ := budget.Hold(c.of, name, c.size, since(name), false); ok {
					delete(waits, name)
					held[name] = c
				}
			},
			"keep": func(t *rapid.T) {
				name, c := some(t)
				forget(name)
				c.kept = true
				held[name] = c
				budget.Keep(c.of, name, c.size)
			},
			"forget": func(t *rapid.T) {
				name, _ := some(t)
				forget(name)
				budget.Forget(name, false)
			},
			"count what was read before it was counted": func(t *rapid.T) {
				name, c := some(t)
				defer budget.Begin(name)()
				c.kept = true
				forget(name)
				held[name] = c
				budget.Keep(c.of, name, c.size)
				if _, current := budget.Hold(c.of, name, Size{1, 1}, since(name), true); current {
					t.Fatalf("an outdated answer about %s was counted", name)
				}
				if budget.Forget(name, true) {
					t.Fatalf("an outdated answer removed %s from the budget", name)
				}
			},
			"count what was read": func(t *rapid.T) {
				name, _ := some(t)
				defer budget.Begin(name)()
				forget(name)
				if !budget.Forget(name, true) {
					t.Fatalf("%s does not count", name)
				}
			},
			"": func(t *rapid.T) {
				if !slices.IsSortedFunc(released, func(a, b string) int { return since(a).Compare(since(b)) }) {
					t.Fatalf("room was made for %v", released)
				}
				released = nil
				checkBudget(t, budget, limits, held, waits)
			},
		})
	})
}

func checkBudget(t *rapid.T, budget *Budget, limits Limits, held, waits map[string]counted) {
	want := map[names.ClusterID]Usage{}
	used, total, kept := map[part]Size{}, Size{}, false
	for _, c := range held {
		want[c.of.Member] = Usage{want[c.of.Member].Held.plus(c.size), want[c.of.Member].Waiting}
		in := part{c.of.Member, c.of.Slice.Namespace}
		used[in], total, kept = used[in].plus(c.size), total.plus(c.size), kept || c.kept
	}
	for _, c := range waits {
		want[c.of.Member] = Usage{want[c.of.Member].Held, want[c.of.Member].Waiting + 1}
	}
	if diff := cmp.Diff(want, budget.Usage()); diff != "" {
		t.Fatalf("held %v, waiting %v (-want +got):\n%s", held, waits, diff)
	}
	// uses are the parts of the limits that a namespace of a member uses.
	uses := func(of kit.Scope) (most float64) {
		member := want[of.Member].Held
		return max(float64(member.Endpoints)/float64(limits.Endpoints), float64(member.Bytes)/float64(limits.Bytes),
			float64(used[part{of.Member, of.Slice.Namespace}].Endpoints)/float64(limits.InNamespace), float64(total.Bytes)/float64(limits.Total))
	}
	for name, c := range held {
		if most := uses(c.of); most > 1 && !kept {
			t.Fatalf("%s is held, and %.0f %% of a limit are used", name, 100*most)
		}
	}
	for name, c := range waits {
		if !budget.Waits(name) {
			t.Fatalf("%s does not wait", name)
		}
		alone := max(float64(c.size.Endpoints)/float64(limits.InNamespace), float64(c.size.Bytes)/float64(limits.Bytes))
		if most := uses(c.of); most+alone <= resumed && most+float64(c.size.Bytes)/float64(limits.Total) <= resumed {
			t.Fatalf("%s waits although %.0f %% of the limits are used", name, 100*most)
		}
	}
}

// What was imported before stays, whatever is shown first. What is not shown again leaves its room to others.
func TestReserve(t *testing.T) {
	var room []string
	budget := NewBudget(Limits{Endpoints: 100}, func(s kit.Scope) { room = append(room, s.Slice.Name) })
	of := func(name string) kit.Scope {
		return kit.Scope{Member: "c2", Slice: types.NamespacedName{Namespace: "shop", Name: name}}
	}
	for _, name := range []string{"stays", "gone"} {
		budget.Reserve(of(name), name, Size{Endpoints: 50})
	}
	if ok, _ := budget.Hold(of("new"), "new", Size{Endpoints: 50}, time.Unix(1, 0), false); ok {
		t.Error("a new slice takes the room of one that was imported")
	}
	if ok, _ := budget.Hold(of("stays"), "stays", Size{Endpoints: 40}, time.Unix(2, 0), false); !ok {
		t.Error("an imported slice does not stay")
	}
	if budget.Settle(); !slices.Equal(room, []string{"new"}) {
		t.Errorf("room was made for %v", room)
	}
	if want := (map[names.ClusterID]Usage{"c2": {Held: Size{Endpoints: 90}}}); !maps.Equal(budget.Usage(), want) {
		t.Errorf("the budget is used as %v, want %v", budget.Usage(), want)
	}
}

// The estimate of a slice's memory is near what the heap grows by.
func TestSizeOf(t *testing.T) {
	for _, tt := range []struct{ endpoints, slices int }{{1, 20_000}, {10, 5_000}, {100, 1_000}, {1000, 100}} {
		original := slice("c2", "shop", "web-x")
		for i := range tt.endpoints {
			original.Endpoints = append(original.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{fmt.Sprintf("10.2.%d.%d", i/250, i%250)}, Zone: ptr.To("zone-a"), Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			})
		}
		text, err := json.Marshal(original)
		if err != nil {
			t.Fatal(err)
		}
		all, size := make([]*discoveryv1.EndpointSlice, tt.slices), int64(0)
		before := heap()
		for i := range all {
			all[i] = &discoveryv1.EndpointSlice{}
			if err := json.Unmarshal(text, all[i]); err != nil {
				t.Fatal(err)
			}
			_, _ = kit.Trim(all[i])
			size += SizeOf(all[i]).Bytes
		}
		grown := heap() - before
		runtime.KeepAlive(all)
		if ratio := float64(size) / float64(grown); ratio < 0.7 || ratio > 1.4 {
			t.Errorf("%d slices with %d endpoints take %d bytes, and %d by the estimate: ratio %.2f", tt.slices, tt.endpoints, grown, size, ratio)
		}
	}
}

func heap() int64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}
