package dnswiring

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// record is what is kept on an object about what was done to it, where its content has no
// room for a comment.
type record struct {
	// Zones are those that were added.
	Zones []string `json:"zones,omitempty"`
	// Made are things that were not there before.
	Made []string `json:"made,omitempty"`
}

// madeObject stands for the whole object in record.Made.
const madeObject = "object"

// recordOf reads an object's record; nil where it has none.
func recordOf(o metav1.Object) (*record, error) {
	text, ok := o.GetAnnotations()[names.AnnotationDNSWiring]
	if !ok {
		return nil, nil
	}
	r := &record{}
	if err := json.Unmarshal([]byte(text), r); err != nil {
		return nil, fmt.Errorf("%s: reading the annotation %s: %w", nameOf(o), names.AnnotationDNSWiring, err)
	}
	return r, nil
}

func (r record) write(o metav1.Object) {
	text, err := json.Marshal(r)
	if err != nil {
		panic(err) // strings only
	}
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationDNSWiring] = string(text)
	o.SetAnnotations(annotations)
}

// forget takes the record off.
func forget(o metav1.Object) {
	annotations := maps.Clone(o.GetAnnotations())
	delete(annotations, names.AnnotationDNSWiring)
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}

// emptied returns nil for a ConfigMap that was made here and has nothing left in it. With
// something in it that others have added it stays, as theirs.
func emptied(cm *corev1.ConfigMap) *corev1.ConfigMap {
	r, err := recordOf(cm)
	if err != nil || r == nil || !slices.Contains(r.Made, madeObject) {
		return cm
	}
	if len(cm.Data)+len(cm.BinaryData) == 0 {
		return nil
	}
	forget(cm)
	return cm
}

// changed describes how one ConfigMap became another; nil is none.
func changed(before, after *corev1.ConfigMap) Change {
	var c Change
	was, is := map[string]string{}, map[string]string{}
	if before != nil {
		c.Before = before
		collect(was, before)
	}
	if after != nil {
		c.After = after
		collect(is, after)
	}
	for _, name := range sortedKeys(was, is) {
		if was[name] != is[name] {
			c.Fields = append(c.Fields, Field{Name: name, Before: was[name], After: is[name]})
		}
	}
	if c.None() {
		c.After = c.Before
	}
	return c
}

// collect gathers the parts of a ConfigMap that are edited here.
func collect(fields map[string]string, cm *corev1.ConfigMap) {
	for key, text := range cm.Data {
		fields["data."+key] = text
	}
	if text, ok := cm.Annotations[names.AnnotationDNSWiring]; ok {
		fields["metadata.annotations."+names.AnnotationDNSWiring] = text
	}
}

// sortedKeys are the keys of all the maps, in order.
func sortedKeys(of ...map[string]string) []string {
	var keys []string
	for _, m := range of {
		keys = slices.AppendSeq(keys, maps.Keys(m))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
