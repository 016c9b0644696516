package lost

import (
	"context"
	"slices"
	"testing"
)

func TestSet(t *testing.T) {
	s := NewSet()
	var told []string
	s.OnChange(func(m string) { told = append(told, m) })
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if s.Known() || s.Await(ended) == nil {
		t.Error("it is known before anybody has said who is in it")
	}
	s.Replace([]string{"a"})
	if !s.Known() || s.Await(t.Context()) != nil || !s.Has("a") || s.Has("b") || len(told) > 0 {
		t.Errorf("known %t, a %t, b %t, told %v", s.Known(), s.Has("a"), s.Has("b"), told)
	}
	s.Replace([]string{"b", "c"})
	slices.Sort(told)
	if !slices.Equal(told, []string{"a", "b", "c"}) || s.Has("a") || !s.Has("c") {
		t.Errorf("told %v", told)
	}
	told = nil
	if s.Replace([]string{"c", "b"}); len(told) > 0 {
		t.Errorf("told %v of no change", told)
	}
}

// Before it is known who was in the set, it is known of those that are alive of, or found out.
func TestSetIsSupposed(t *testing.T) {
	s := NewSet()
	var told []string
	s.OnChange(func(m string) { told = append(told, m) })
	for i, step := range []struct {
		members, alive []string
		told           []string
		knows, has     string // of a, b and c
	}{
		{nil, nil, nil, "", ""},
		{nil, []string{"a"}, []string{"a"}, "a", ""},
		{nil, []string{"a"}, nil, "a", ""},
		{[]string{"b"}, []string{"a"}, []string{"b"}, "ab", "b"},
		{[]string{"b", "a"}, nil, []string{"a"}, "ab", "ab"},
		{[]string{"a"}, []string{"b"}, []string{"b"}, "ab", "a"},
	} {
		told = nil
		s.Suppose(step.members, step.alive)
		knows, has := "", ""
		for _, m := range []string{"a", "b", "c"} {
			if s.Knows(m) {
				knows += m
			}
			if s.Has(m) {
				has += m
			}
		}
		if !slices.Equal(told, step.told) || knows != step.knows || has != step.has || s.Known() {
			t.Errorf("step %d: told %v, knows %q, has %q", i, told, knows, has)
		}
	}
	s.Replace([]string{"c"})
	if !s.Known() || !s.Knows("a") || s.Has("a") || !s.Has("c") {
		t.Error("it is not what it was replaced by")
	}
}
