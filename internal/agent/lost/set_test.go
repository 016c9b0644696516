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
