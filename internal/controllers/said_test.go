package controllers

import (
	"slices"
	"testing"
)

// A thing is said once, and again when it is another, or was over.
func TestSaidOnce(t *testing.T) {
	type refusal struct{ about, reason string }
	var said Said[string, refusal]
	for i, step := range []struct {
		of     string
		forget bool
		what   refusal
		news   bool
		had    bool
	}{
		{of: "a", forget: true},
		{of: "a", what: refusal{"u1", "overlaps"}, news: true},
		{of: "a", what: refusal{"u1", "overlaps"}},
		{of: "b", what: refusal{"u1", "overlaps"}, news: true},
		{of: "a", what: refusal{"u1", "overlaps more"}, news: true},
		{of: "a", what: refusal{"u2", "overlaps more"}, news: true},
		{of: "a", forget: true, had: true},
		{of: "b", what: refusal{"u1", "overlaps"}},
		{of: "a", what: refusal{"u2", "overlaps more"}, news: true},
		{of: "b", forget: true, had: true},
		{of: "b", forget: true},
	} {
		if step.forget {
			if had := said.Forget(step.of); had != step.had || said.Has(step.of) {
				t.Errorf("step %d: something was said: %t", i, had)
			}
			continue
		}
		if news := said.News(step.of, step.what); news != step.news || !said.Has(step.of) {
			t.Errorf("step %d: news is %t", i, news)
		}
	}
	if all := said.All(); !slices.Equal(all, []string{"a"}) {
		t.Errorf("something was said of %v", all)
	}
}

// What is said may be nothing but that it is so.
func TestSaidZero(t *testing.T) {
	var said Said[string, struct{}]
	if !said.News("a", struct{}{}) || said.News("a", struct{}{}) {
		t.Error("the first is news, and the second is not")
	}
}
