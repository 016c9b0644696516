package local

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func node(name, zone string) *corev1.Node {
	n := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"a": "b"}}}
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
		{"a node in another zone", func() bool { return zones.Put(node("n3", "a")) }, true, []string{"a", "b"}},
		{"a node without a zone", func() bool { return zones.Put(node("n4", "")) }, false, []string{"a", "b"}},
		{"a node changes its zone", func() bool { return zones.Put(node("n1", "a")) }, false, []string{"a", "b"}},
		{"the last of its zone moves", func() bool { return zones.Put(node("n2", "a")) }, true, []string{"a"}},
		{"a node is deleted", func() bool { return zones.Remove(node("n1", "a")) }, false, []string{"a"}},
		{"an unknown node is deleted", func() bool { return zones.Remove(node("n9", "a")) }, false, []string{"a"}},
		{"all nodes are deleted", func() bool { zones.Remove(node("n2", "a")); return zones.Remove(node("n3", "a")) }, true, nil},
	} {
		if changed := step.do(); changed != step.changed || !slices.Equal(zones.Sorted(), step.want) {
			t.Errorf("%s: changed %t, zones %v; want %t, %v", step.what, changed, zones.Sorted(), step.changed, step.want)
		}
	}
}

func TestStripNode(t *testing.T) {
	whole := node("n1", "a")
	whole.Spec.PodCIDRs, whole.Status.Addresses = []string{"10.1.0.0/24"}, []corev1.NodeAddress{{Address: "10.0.0.1"}}
	whole.Status.Images = []corev1.ContainerImage{{Names: []string{"large"}}}
	left, err := StripNode(whole)
	want := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: "n1", Labels: map[string]string{corev1.LabelTopologyZone: "a"}},
		Spec:       corev1.NodeSpec{PodCIDRs: whole.Spec.PodCIDRs}, Status: corev1.NodeStatus{Addresses: whole.Status.Addresses},
	}
	if err != nil || !equality.Semantic.DeepEqual(left, want) {
		t.Errorf("left %+v, %v", left, err)
	}
	if got, err := StripNode("else"); got != "else" || err != nil {
		t.Errorf("an object of another type becomes %v, %v", got, err)
	}
}
