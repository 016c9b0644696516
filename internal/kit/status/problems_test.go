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
	p.Set(web, "slice/a", Outcome{}) // there was none
	p.Set(web, "slice/a", Outcome{Failure: "quota"})
	p.Set(web, "slice/a", Outcome{Failure: "quota"})
	p.Set(web, "slice/b", Outcome{Warnings: []Warning{{Reason: "R", Message: "m"}}})
	p.Set(db, "record", Outcome{Failure: "no"})
	if got := p.Of(web); len(got) != 2 || got["slice/a"].Failure != "quota" || got["slice/b"].Warnings[0].Reason != "R" {
		t.Errorf("the problems of web are %v", got)
	}
	p.Set(web, "slice/a", Outcome{})
	p.Set(web, "slice/b", Outcome{})
	if len(p.Of(web)) > 0 || len(p.Of(db)) != 1 {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	p.SetSlice(web, "slice/c", Outcome{Failure: "quota"})
	p.SetSlice(db, "slice/c", Outcome{Failure: "quota"}) // it has got another label
	if len(p.Of(web)) > 0 || p.Of(db)["slice/c"].Failure != "quota" {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	p.SetSlice(types.NamespacedName{Namespace: "shop"}, "slice/c", Outcome{})
	p.SetSlice(types.NamespacedName{Namespace: "shop"}, "slice/d", Outcome{})
	if len(p.Of(web)) > 0 || len(p.Of(db)) != 1 {
		t.Errorf("there are %v and %v", p.Of(web), p.Of(db))
	}
	if want := []string{"web", "web", "db", "web", "web", "web", "web", "db", "db"}; !slices.Equal(told, want) {
		t.Errorf("it told of %v, want %v", told, want)
	}
}
