package main

import (
	"fmt"
	"strings"
	"testing"
	"text/template"

	"pgregory.net/rapid"
)

// For each choice, the template renders exactly the text for that choice.
func TestChoose(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lines := rapid.SliceOfN(rapid.SampledFrom([]string{"a\n", "b\n", "  c\n", "{{- if .x }}\nx\n{{- else }}\ny\n{{- end }}\n", "{{- if .y }}\nz\n{{- end }}\n"}), 0, 12)
		var texts [8]string
		for i := range texts {
			texts[i] = strings.Join(lines.Draw(t, fmt.Sprint(i)), "")
		}
		var decide func(depth, number int) []string
		decide = func(depth, number int) []string {
			if depth == 3 {
				return pieces(texts[number])
			}
			return choose(fmt.Sprintf(".c%d", depth), decide(depth+1, number), decide(depth+1, number|1<<depth))
		}
		whole := strings.Join(decide(0, 0), "")
		for number, text := range texts {
			values := map[string]bool{"x": true, "y": false}
			for depth := range 3 {
				values[fmt.Sprintf("c%d", depth)] = number&(1<<depth) != 0
			}
			if got, want := executed(t, whole, values), executed(t, text, values); got != want {
				t.Fatalf("%v gives\n%s\nwant\n%s\nby\n%s", values, got, want, whole)
			}
		}
	})
}

func executed(t *rapid.T, text string, values map[string]bool) string {
	parsed, err := template.New("").Parse("begin\n" + text)
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	var out strings.Builder
	if err := parsed.Execute(&out, values); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// Lines that all texts share appear once, and blocks with a begin and an end are not split.
func TestChooseIsShort(t *testing.T) {
	got := choose(".c", pieces("a\nb\nc\n"), pieces("a\n{{- with .x }}\nx: {{ . }}\n{{- end }}\nc\nd\n"))
	const want = "a\n{{- if .c }}\n{{- with .x }}\nx: {{ . }}\n{{- end }}\n{{- else }}\nb\n{{- end }}\nc\n{{- if .c }}\nd\n{{- end }}\n"
	if strings.Join(got, "") != want {
		t.Errorf("%q", got)
	}
	if got := choose(".c", pieces("a\n"), nil); strings.Join(got, "") != "{{- if not (.c) }}\na\n{{- end }}\n" {
		t.Errorf("%q", got)
	}
}
