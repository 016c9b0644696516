package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

func TestNewest(t *testing.T) {
	object := func(uid types.UID, version, says string) *corev1.ConfigMap {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "x", UID: uid, ResourceVersion: version},
			Data:       map[string]string{"says": says},
		}
	}
	for _, tt := range []struct {
		name         string
		wrote, shown *corev1.ConfigMap
		want         string
		news         bool
	}{
		{"nothing was written", nil, object("u", "9", "shown"), "shown", true},
		{"the copy is behind", object("u", "10", "written"), object("u", "9", "shown"), "written", false},
		{"the copy shows it", object("u", "10", "written"), object("u", "10", "shown"), "shown", false},
		{"the copy is ahead", object("u", "10", "written"), object("u", "11", "shown"), "shown", true},
		{"it is another one", object("u", "10", "written"), object("v", "9", "shown"), "shown", true},
		{"a version that is no number", object("u", "10", "written"), object("u", "x", "shown"), "shown", true},
	} {
		var n Newest[*corev1.ConfigMap]
		if tt.wrote != nil {
			n.Wrote(tt.wrote)
			tt.wrote.Data["says"] = "changed by its owner"
		}
		for range 2 { // who gets it may change it
			got := n.Of(tt.shown)
			if got.Data["says"] != tt.want {
				t.Errorf("%s: %q, want %q", tt.name, got.Data["says"], tt.want)
			}
			if got != tt.shown {
				got.Data["says"] = "changed by the caller"
			}
		}
		if got := n.News(tt.shown); got != tt.news {
			t.Errorf("%s: news is %v", tt.name, got)
		}
	}
	key := types.NamespacedName{Namespace: "n", Name: "x"}
	var n Newest[*corev1.ConfigMap]
	if n.Forget(key) {
		t.Error("nothing was written, and it is said to be")
	}
	n.Wrote(object("u", "10", "written"))
	if !n.Forget(key) || n.Forget(key) {
		t.Error("it was written, and forgotten once")
	}
	if got := n.Of(object("u", "9", "shown")); got.Data["says"] != "shown" {
		t.Errorf("forgotten: %v", got.Data)
	}
	n.Wrote(object("u", "10", "written"))
	n.Deleted(object("u", "10", "written"))
	if !n.Gone(object("u", "10", "shown")) || n.Gone(object("v", "11", "another")) {
		t.Error("the very object is gone, and no other")
	}
	if n.Forget(key) || n.Gone(object("u", "10", "shown")) {
		t.Error("what was deleted and is not shown any more is forgotten")
	}
}
