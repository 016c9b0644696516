package main

import (
	"regexp"
	"strings"
)

// Actions that begin and end something. Each has a line of its own.
var (
	beginning = regexp.MustCompile(`^\s*\{\{- (if|with|range) `)
	ending    = regexp.MustCompile(`^\s*\{\{- end }}`)
)

// pieces are a template's lines; those from the beginning of something to its end are one.
func pieces(text string) []string {
	var all []string
	depth := 0
	for line := range strings.Lines(text) {
		if depth > 0 {
			all[len(all)-1] += line
		} else {
			all = append(all, line)
		}
		if beginning.MatchString(line) {
			depth++
		}
		if ending.MatchString(line) {
			depth--
		}
	}
	return all
}

// choose is the template that is one on a condition, and otherwise the other: what both have stands there once.
func choose(condition string, without, with []string) []string {
	var all []string
	var no, yes strings.Builder
	flush := func() {
		switch {
		case yes.Len() > 0 && no.Len() > 0:
			all = append(all, "{{- if "+condition+" }}\n"+yes.String()+"{{- else }}\n"+no.String()+"{{- end }}\n")
		case yes.Len() > 0:
			all = append(all, "{{- if "+condition+" }}\n"+yes.String()+"{{- end }}\n")
		case no.Len() > 0:
			all = append(all, "{{- if not ("+condition+") }}\n"+no.String()+"{{- end }}\n")
		}
		yes.Reset()
		no.Reset()
	}
	common := longest(without, with)
	for i, j := 0, 0; i < len(without) || j < len(with); {
		switch {
		case i < len(without) && j < len(with) && without[i] == with[j]:
			flush()
			all = append(all, with[j])
			i, j = i+1, j+1
		case j == len(with) || i < len(without) && common[i+1][j] >= common[i][j+1]:
			no.WriteString(without[i])
			i++
		default:
			yes.WriteString(with[j])
			j++
		}
	}
	flush()
	return all
}

// longest has, for the rests of two lists from any of their elements on, how many elements they can have in common in their order.
func longest(a, b []string) [][]int {
	n := make([][]int, len(a)+1)
	for i := range n {
		n[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				n[i][j] = n[i+1][j+1] + 1
			} else {
				n[i][j] = max(n[i+1][j], n[i][j+1])
			}
		}
	}
	return n
}
