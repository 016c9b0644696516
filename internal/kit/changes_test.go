package kit

import (
	"context"
	"slices"
	"testing"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
)

func TestChanges(t *testing.T) {
	var c Changes[string]
	var got []string
	c.Publish("before")
	end := c.Subscribe(func(key string) { got = append(got, "1 "+key) })
	endAll := c.Subscribe(func(key string) {
		if key == "c" {
			c.Subscribe(func(string) {}) // no lock is held
		}
	})
	c.Publish("a", "b")
	end()
	c.Publish("c")
	endAll()
	if want := []string{"1 a", "1 b"}; !slices.Equal(got, want) {
		t.Errorf("published were %v, want %v", got, want)
	}
}

// A source delivers all objects at low priority first, and ends with its controller.
func TestOn(t *testing.T) {
	var c Changes[string]
	q := priorityqueue.New[string]("on")
	defer q.ShutDown()
	ctx, cancel := context.WithCancel(t.Context())
	if err := On(&c, func(_ context.Context, key string) []string { return []string{"of " + key} }).Start(ctx, workqueue.TypedRateLimitingInterface[string](q)); err != nil {
		t.Fatal(err)
	}
	c.Publish("a")
	for _, want := range []struct {
		item     string
		priority int
	}{{"of a", 0}, {"of ", handler.LowPriority}} {
		if item, priority, _ := q.GetWithPriority(); item != want.item || priority != want.priority {
			t.Errorf("requested %q at %d, want %+v", item, priority, want)
		}
	}
	cancel()
	for { // AfterFunc runs on its own
		c.mu.Lock()
		left := len(c.subscribers)
		c.mu.Unlock()
		if left == 0 {
			return
		}
	}
}
