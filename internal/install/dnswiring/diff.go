package dnswiring

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// context is the number of unchanged lines around a change in a diff.
const context = 3

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
		fmt.Fprintf(&b, "--- %s\n+++ %s\n%s", side(c.Before != nil, f.Before), side(c.After != nil, f.After), hunk(f.Before, f.After))
	}
	return b.String()
}

// hunk formats the single range of lines in which two texts differ.
func hunk(before, after string) string {
	was, is := lines(before), lines(after)
	same := 0
	for same < len(was) && same < len(is) && was[same] == is[same] {
		same++
	}
	tail := 0
	for tail < len(was)-same && tail < len(is)-same && was[len(was)-1-tail] == is[len(is)-1-tail] {
		tail++
	}
	from := max(0, same-context)
	shown := min(tail, context)
	var b strings.Builder
	fmt.Fprintf(&b, "@@ -%s +%s @@\n", span(from, len(was)-tail+shown), span(from, len(is)-tail+shown))
	write := func(sign string, lines []string) {
		for _, line := range lines {
			b.WriteString(sign + line)
			if !strings.HasSuffix(line, "\n") {
				b.WriteString("\n\\ No newline at end of file\n")
			}
		}
	}
	write(" ", was[from:same])
	write("-", was[same:len(was)-tail])
	write("+", is[same:len(is)-tail])
	write(" ", was[len(was)-tail:len(was)-tail+shown])
	return b.String()
}

// span formats the lines from (counted from 0) to to (exclusive).
func span(from, to int) string {
	if to == from {
		return fmt.Sprintf("%d,0", from)
	}
	return fmt.Sprintf("%d,%d", from+1, to-from)
}

func lines(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		all = append(all, line)
	}
	return all
}
