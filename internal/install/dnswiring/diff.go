package dnswiring

import (
	"slices"
	"strings"

	"github.com/pmezard/go-difflib/difflib"
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
		_ = difflib.WriteUnifiedDiff(&b, difflib.UnifiedDiff{ // a strings.Builder returns no errors
			A: lines(f.Before), FromFile: side(c.Before != nil, f.Before),
			B: lines(f.After), ToFile: side(c.After != nil, f.After),
			Context: 3,
		})
	}
	return b.String()
}

func lines(text string) []string {
	all := slices.Collect(strings.Lines(text))
	if last := len(all) - 1; last >= 0 && !strings.HasSuffix(text, "\n") {
		all[last] += "\n\\ No newline at end of file\n"
	}
	return all
}
