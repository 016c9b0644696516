package status

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestProblems(t *testing.T) {
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	var p Problems
	var told []string
	p.Changes().Subscribe(func(s types.NamespacedName) { told = append(told, s.Name) })
	p.Set(web, Part{Slice: "a"}, Problem{}) // there was none
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
	p.SetSlice(db, Part{Slice: "c"}, Problem{Failure: "quota"}) // it has got another label
	if len(p.Of(web)) > 0 || p.Of(db)[Part{Slice: "c"}].Failure != "quota" {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	p.SetSlice(types.NamespacedName{Namespace: "shop"}, Part{Slice: "c"}, Problem{})
	p.SetSlice(types.NamespacedName{Namespace: "shop"}, Part{Slice: "d"}, Problem{})
	if len(p.Of(web)) > 0 || len(p.Of(db)) != 1 {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	if want := []string{"web", "web", "db", "web", "web", "web", "web", "db", "db"}; !slices.Equal(told, want) {
		t.Errorf("it told of %v, want %v", told, want)
	}
}
