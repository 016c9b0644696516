package border

import (
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Changes of a member in a namespace are written no faster than the rate, each object keeps its
// place in the queue, and other namespaces and members never wait.
func TestPace(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const perSecond, burst = 10, 5
		p, began := NewPace(perSecond, burst), time.Unix(1_700_000_000, 0)
		now, written, due := began, 0, map[string]time.Time{}
		for i := range rapid.IntRange(1, 200).Draw(t, "changes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 50).Draw(t, "ms")) * time.Millisecond)
			object := fmt.Sprint(rapid.IntRange(0, 100).Draw(t, "object"))
			wait := p.Wait("c2", "busy", object, now)
			if at, asked := due[object]; asked && max(0, at.Sub(now)) != wait {
				t.Fatalf("%s has lost its place: the wait is %v, want until %v", object, wait, at)
			}
			due[object] = now.Add(wait)
			if wait == 0 {
				written++
				delete(due, object)
				p.Done("c2", "busy", object, now)
			}
			behind := 0
			for _, at := range due {
				if at.Sub(now) > late {
					behind++
				}
			}
			if found := p.Late(now)["c2"]; found != behind {
				t.Fatalf("%d objects are late, and %d are told", behind, found)
			}
			if most := burst + perSecond*now.Sub(began).Seconds() + 1; float64(written) > most {
				t.Fatalf("%d writes after %v", written, now.Sub(began))
			}
			for _, other := range []bucket{{"c2", "quiet"}, {"c3", "busy"}} {
				if i%50 != 49 {
					continue
				}
				if wait := p.Wait(other.member, other.namespace, other.member+" quiet", now); wait > 0 {
					t.Fatalf("%v waits %v", other, wait)
				}
				p.Done(other.member, other.namespace, other.member+" quiet", now)
			}
		}
		// In the end everything is written, and no state is left.
		for object := range due {
			now = now.Add(p.Wait("c2", "busy", object, now))
			p.Done("c2", "busy", object, now)
		}
		later := now.Add(time.Minute)
		p.Done("c2", "busy", "", later)
		p.Done("c2", "quiet", "", later)
		p.Done("c3", "busy", "", later)
		if len(p.buckets)+len(p.due) > 0 {
			t.Fatalf("%v and %v are left", p.buckets, p.due)
		}
	})
}
