package clusterset

import (
	"strconv"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

func TestTableIsAMap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		got, want := newTable[int](), map[string]int{}
		name := rapid.Custom(func(t *rapid.T) string {
			return strconv.Itoa(rapid.IntRange(0, 60).Draw(t, "name"))
		})
		t.Repeat(map[string]func(*rapid.T){
			"set": func(t *rapid.T) {
				n, v := name.Draw(t, "name"), rapid.Int().Draw(t, "value")
				want[n] = v
				got.set(n, &v)
			},
			"delete": func(t *rapid.T) {
				n := name.Draw(t, "name")
				delete(want, n)
				got.set(n, nil)
			},
			"": func(t *rapid.T) {
				for i := range 61 {
					n := strconv.Itoa(i)
					v, ok := want[n]
					if p := got.get(n); (p != nil) != ok || ok && *p != v {
						t.Fatalf("%s: got %v, want %v, %v", n, p, v, ok)
					}
				}
				if got.live != len(want) {
					t.Fatalf("%d live of %d", got.live, len(want))
				}
			},
		})
	})
}

// Lookups of unchanged entries always succeed during changes of the table, and names that are
// added and removed do not make it grow.
func TestTableWhileItChanges(t *testing.T) {
	x, value := newTable[int](), 1
	x.set("constant", &value)
	var readers sync.WaitGroup
	stop := make(chan struct{})
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if x.get("constant") != &value {
					t.Error("a name was not found")
					return
				}
				if p := x.get("none"); p != nil {
					t.Error("found a name that was never added")
					return
				}
			}
		})
	}
	for i := range 20_000 {
		x.set(strconv.Itoa(i), &value)
		if i >= 100 {
			x.set(strconv.Itoa(i-100), nil)
		}
	}
	close(stop)
	readers.Wait()
	if size := len(*x.slots.Load()); size > 64*minSlots {
		t.Errorf("%d slots for 101 names", size)
	}
}
