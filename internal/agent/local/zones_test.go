package local

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name, zone string) *metav1.PartialObjectMetadata {
	n := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"a": "b"}}}
	n.Labels = map[string]string{"other": "label"}
	if zone != "" {
		n.Labels[corev1.LabelTopologyZone] = zone
	}
	return n
}

func TestZones(t *testing.T) {
	var zones Zones
	for _, step := range []struct {
		what    string
		do      func() bool
		changed bool
		want    []string
	}{
		{"a node", func() bool { return zones.Put(node("n1", "b")) }, true, []string{"b"}},
		{"the same", func() bool { return zones.Put(node("n1", "b")) }, false, []string{"b"}},
		{"another in its zone", func() bool { return zones.Put(node("n2", "b")) }, false, []string{"b"}},
		{"one of another zone", func() bool { return zones.Put(node("n3", "a")) }, true, []string{"a", "b"}},
		{"one without", func() bool { return zones.Put(node("n4", "")) }, false, []string{"a", "b"}},
		{"one moves", func() bool { return zones.Put(node("n1", "a")) }, false, []string{"a", "b"}},
		{"the last of its zone moves", func() bool { return zones.Put(node("n2", "a")) }, true, []string{"a"}},
		{"one goes", func() bool { return zones.Remove(node("n1", "a")) }, false, []string{"a"}},
		{"an unknown goes", func() bool { return zones.Remove(node("n9", "a")) }, false, []string{"a"}},
		{"all go", func() bool { zones.Remove(node("n2", "a")); return zones.Remove(node("n3", "a")) }, true, nil},
	} {
		if changed := step.do(); changed != step.changed || !slices.Equal(zones.Sorted(), step.want) {
			t.Errorf("%s: changed %t, zones %v; want %t, %v", step.what, changed, zones.Sorted(), step.changed, step.want)
		}
	}
}

func TestStripNode(t *testing.T) {
	n := node("n1", "a")
	if _, err := StripNode(n); err != nil {
		t.Fatal(err)
	}
	if len(n.Labels) != 1 || n.Labels[corev1.LabelTopologyZone] != "a" || n.Annotations != nil || n.Name != "n1" {
		t.Errorf("left %+v", n)
	}
	if got, err := StripNode("else"); got != "else" || err != nil {
		t.Errorf("something else becomes %v, %v", got, err)
	}
}
