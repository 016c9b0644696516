// Package podspec turns what a Pod says into what its containers get: command,
// environment, files for names and name servers. It decides only, from values
// that are handed in; nothing here reads or writes anything.
package podspec

import "strings"

// Expand replaces each $(NAME) in text by the variable's value. A variable that
// lookup does not know stays as it is written, and $$ is one $: the rules of
// the fields command, args and env of a container.
func Expand(text string, lookup func(name string) (string, bool)) string {
	var out strings.Builder
	for {
		before, after, found := strings.Cut(text, "$")
		out.WriteString(before)
		if !found {
			return out.String()
		}
		name, rest, closed := strings.Cut(strings.TrimPrefix(after, "("), ")")
		switch {
		case strings.HasPrefix(after, "$"):
			out.WriteByte('$')
			text = after[1:]
		case strings.HasPrefix(after, "(") && closed:
			value, ok := lookup(name)
			if !ok {
				value = "$(" + name + ")"
			}
			out.WriteString(value)
			text = rest
		default:
			out.WriteByte('$')
			text = after
		}
	}
}
