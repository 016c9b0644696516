package controllers

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

func queue() priorityqueue.PriorityQueue[string] { return priorityqueue.New[string]("test") }

// queued empties a queue, in its order, and says of items that nobody waits for them.
func queued(q priorityqueue.PriorityQueue[string]) (all []string) {
	for range q.Len() {
		item, priority, _ := q.GetWithPriority()
		q.Done(item)
		if priority < 0 {
			item += " later"
		}
		all = append(all, item)
	}
	return all
}

// What is to be done once is done when what it waits for has come, and not before.
func TestOnce(t *testing.T) {
	both := func(context.Context) ([]string, error) { return []string{"a", "b"}, nil }
	for name, tt := range map[string]struct {
		await    error
		requests func(context.Context) ([]string, error)
		want     []string
	}{
		"all is there":    {nil, both, []string{"a later", "b later"}},
		"the agent ends":  {context.Canceled, both, nil},
		"a cache that is": {nil, func(context.Context) ([]string, error) { return []string{"a"}, errors.New("no") }, nil},
	} {
		synctest.Test(t, func(t *testing.T) {
			q := queue()
			defer q.ShutDown()
			come := make(chan struct{})
			source := Once(func(context.Context) error { <-come; return tt.await }, tt.requests)
			if err := source.Start(t.Context(), q); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			if q.Len() > 0 {
				t.Errorf("%s: %v is queued too early", name, queued(q))
			}
			close(come)
			synctest.Wait()
			got := queued(q)
			slices.Sort(got)
			if !slices.Equal(got, tt.want) {
				t.Errorf("%s: %v is queued, want %v", name, got, tt.want)
			}
		})
	}
}

// Of what was listed at first, that which changes comes before all else.
func TestEvents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := queue()
		defer q.ShutDown()
		var tell func(string, bool)
		if err := Events(func(add func(string, bool)) { tell = add }).Start(t.Context(), q); err != nil {
			t.Fatal(err)
		}
		for _, listed := range []string{"a", "b", "c"} {
			tell(listed, true)
		}
		tell("b", false)
		synctest.Wait()
		got := queued(q)
		if len(got) != 3 || got[0] != "b" || !slices.Contains(got, "a later") || !slices.Contains(got, "c later") {
			t.Errorf("%v is queued", got)
		}
	})
}
