package status

import (
	"context"
	"errors"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/kit"
)

func TestProblems(t *testing.T) {
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	var p Problems
	var told []string
	p.Changes().Subscribe(func(s types.NamespacedName) { told = append(told, s.Name) })
	p.Set(web, Part{Slice: "a"}, Problem{}) // no problem before
	p.Set(web, Part{Slice: "a"}, Problem{Failure: "quota"})
	p.Set(web, Part{Slice: "a"}, Problem{Failure: "quota"})
	p.Set(web, Part{Slice: "b"}, Problem{Warnings: []Warning{{Reason: "R", Message: "m"}}})
	p.Set(db, Part{}, Problem{Failure: "no"})
	if got := p.Of(web); len(got) != 2 || got[Part{Slice: "a"}].Failure != "quota" || got[Part{Slice: "b"}].Warnings[0].Reason != "R" {
		t.Errorf("the problems of web are %v", got)
	}
	p.Set(web, Part{Slice: "a"}, Problem{})
	p.Set(web, Part{Slice: "b"}, Problem{})
	if len(p.Of(web)) > 0 || len(p.Of(db)) != 1 {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	p.SetSlice(web, Part{Slice: "c"}, Problem{Failure: "quota"})
	p.SetSlice(db, Part{Slice: "c"}, Problem{Failure: "quota"}) // the slice was labeled for another service
	if len(p.Of(web)) > 0 || p.Of(db)[Part{Slice: "c"}].Failure != "quota" {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	p.SetSlice(types.NamespacedName{Namespace: "shop"}, Part{Slice: "c"}, Problem{})
	p.SetSlice(types.NamespacedName{Namespace: "shop"}, Part{Slice: "d"}, Problem{})
	if len(p.Of(web)) > 0 || len(p.Of(db)) != 1 {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	if want := []string{"web", "web", "db", "web", "web", "web", "web", "db", "db"}; !slices.Equal(told, want) {
		t.Errorf("published changes of %v, want %v", told, want)
	}
}

// A failure lasts until a write succeeds: a conflict in between, which is tried again, ends nothing.
func TestFailuresSince(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	refused := apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("quota"))
	conflict := apierrors.NewConflict(schema.GroupResource{}, "", nil)
	var p Problems
	set := func(err error) Problem {
		p.Set(web, Part{}, ProblemOf(kit.OutcomeOf(err)))
		return p.Of(web)[Part{}]
	}
	if got := set(conflict); got.Failure != "" || !got.Since.IsZero() {
		t.Errorf("a conflict is a problem: %+v", got)
	}
	first := set(refused)
	if first.Failure == "" || first.Since.IsZero() {
		t.Fatalf("a refusal is %+v", first)
	}
	for _, err := range []error{conflict, errors.New("no route"), context.Canceled} {
		if got := set(err); got.Failure == "" || got.Since != first.Since {
			t.Errorf("%v: %+v, want a failure since %v", err, got, first.Since)
		}
	}
	if got := set(nil); got.Failure != "" {
		t.Errorf("after a success: %+v", got)
	}
	if again := set(refused); !again.Since.After(first.Since) {
		t.Errorf("it fails since %v, the first time was %v", again.Since, first.Since)
	}
}
