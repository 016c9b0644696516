package dnswiring

import (
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Name returns an object's kind and name for messages.
func Name(o Object) string {
	if _, ok := o.(*unstructured.Unstructured); ok {
		return openShiftObject
	}
	return "configmap " + nameOf(o)
}

// Diff formats a change like diff -u, field by field.
func (c Change) Diff() string {
	var b strings.Builder
	for _, f := range c.Fields {
		side := func(there bool, value string) string {
			if !there || value == "" {
				return "(none)"
			}
			return Name(c.Object()) + " " + f.Name
		}
		text := diff.Diff(side(c.Before != nil, f.Before), []byte(f.Before), side(c.After != nil, f.After), []byte(f.After))
		if f.Before == f.After { // an empty key is removed
			fmt.Fprintf(&b, "--- %s %s\n+++ (none)\n", Name(c.Object()), f.Name)
		}
		_, unified, _ := strings.Cut(string(text), "\n") // without the line "diff A B"
		b.WriteString(unified)
	}
	return b.String()
}
