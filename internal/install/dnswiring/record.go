package dnswiring

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// record is our annotation about changes to an object, for contents that cannot have comments.
type record struct {
	// Zones are the added zones.
	Zones []string `json:"zones,omitempty"`
	// Made are the parts that did not exist before.
	Made []string `json:"made,omitempty"`
}

// madeObject in record.Made means the whole object.
const madeObject = "object"

// recordOf returns an object's record, or nil.
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
		panic(err) // cannot happen: strings only
	}
	annotations := maps.Clone(o.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationDNSWiring] = string(text)
	o.SetAnnotations(annotations)
}

// forget removes the record.
func forget(o metav1.Object) {
	annotations := maps.Clone(o.GetAnnotations())
	delete(annotations, names.AnnotationDNSWiring)
	if len(annotations) == 0 {
		annotations = nil
	}
	o.SetAnnotations(annotations)
}

// emptied returns nil for an empty ConfigMap that Atoll created. With contents of others, the ConfigMap stays.
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

// changed describes the change of an object; nil means that it does not exist.
func changed[T interface {
	Object
	comparable
}](before, after T) Change {
	var c Change
	var none T
	was, is := map[string]string{}, map[string]string{}
	if before != none {
		c.Before, was = before, fields(before)
	}
	if after != none {
		c.After, is = after, fields(after)
	}
	for _, name := range sortedKeys(was, is) {
		_, existed := was[name]
		if _, exists := is[name]; existed != exists || was[name] != is[name] {
			c.Fields = append(c.Fields, Field{Name: name, Before: was[name], After: is[name]})
		}
	}
	if c.None() {
		c.After = c.Before
	}
	return c
}

// fields returns the parts of an object that this package edits, as text.
func fields(o Object) map[string]string {
	all := map[string]string{}
	switch o := o.(type) {
	case *corev1.ConfigMap:
		for key, text := range o.Data {
			all["data."+key] = text
		}
	case *unstructured.Unstructured:
		if servers, found, _ := unstructured.NestedSlice(o.Object, "spec", "servers"); found {
			text, err := json.MarshalIndent(servers, "", "  ")
			if err != nil {
				panic(err) // cannot happen: it came from JSON
			}
			all["spec.servers"] = string(text) + "\n"
		}
	}
	if text, ok := o.GetLabels()[names.LabelCorefile]; ok {
		all["metadata.labels."+names.LabelCorefile] = text
	}
	if text, ok := o.GetAnnotations()[names.AnnotationDNSWiring]; ok {
		all["metadata.annotations."+names.AnnotationDNSWiring] = text
	}
	return all
}

// sortedKeys returns the sorted keys of all maps.
func sortedKeys(of ...map[string]string) []string {
	var keys []string
	for _, m := range of {
		keys = slices.AppendSeq(keys, maps.Keys(m))
	}
	slices.Sort(keys)
	return slices.Compact(keys)
}
