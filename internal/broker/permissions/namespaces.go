package permissions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Namespaces is a set of namespaces: names, and prefixes that end in *. The zero value is empty.
type Namespaces struct {
	patterns []string // sorted, without duplicates
}

// Separators separate the words of a value. The admission policy uses the same characters.
const Separators = ", \t\r\n"

// ParseNamespaces reads names (shop) and prefixes (team-a-*), separated by commas or white space; * means all
// namespaces. It leaves invalid words out of the set, and lists all of them in the error, one per line.
func ParseNamespaces(text string) (Namespaces, error) {
	var patterns []string
	var mistakes []error
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(Separators, r) }) {
		if !isPattern(word) {
			mistakes = append(mistakes, fmt.Errorf("%.70q is neither a namespace name nor a name prefix that ends in *", word))
			continue
		}
		patterns = append(patterns, word)
	}
	slices.Sort(patterns)
	return Namespaces{slices.Compact(patterns)}, errors.Join(mistakes...)
}

// isPattern reports whether a word is a namespace's name, or a prefix followed by *.
func isPattern(word string) bool {
	prefix, isPrefix := strings.CutSuffix(word, "*")
	if isPrefix && len(prefix) < validation.DNS1123LabelMaxLength {
		prefix += "x" // a hyphen may precede the *
	}
	return len(validation.IsDNS1123Label(prefix)) == 0
}

// Contains reports whether a namespace is in the set.
func (n Namespaces) Contains(namespace string) bool {
	return slices.ContainsFunc(n.patterns, func(p string) bool { return covers(p, namespace) })
}

// covers reports whether a pattern includes a namespace, or all namespaces of another pattern.
func covers(pattern, namespace string) bool {
	prefix, isPrefix := strings.CutSuffix(pattern, everything)
	return pattern == namespace || isPrefix && strings.HasPrefix(namespace, prefix)
}

// everything is the pattern of all namespaces.
const everything = "*"

// Without returns the set without some of its patterns.
func (n Namespaces) Without(patterns ...string) Namespaces {
	return Namespaces{slices.DeleteFunc(slices.Clone(n.patterns), func(p string) bool { return slices.Contains(patterns, p) })}
}

// With returns the set with more patterns, which must be valid.
func (n Namespaces) With(patterns ...string) Namespaces {
	all := slices.Sorted(slices.Values(append(n.Texts(), patterns...)))
	return Namespaces{slices.Compact(all)}
}

// All is the set of all namespaces.
func All() Namespaces { return Namespaces{[]string{everything}} }

// Equal reports whether two sets have the same patterns.
func (n Namespaces) Equal(other Namespaces) bool { return slices.Equal(n.patterns, other.patterns) }

// Texts returns the patterns, sorted; never nil.
func (n Namespaces) Texts() []string { return append([]string{}, n.patterns...) }

// String formats the set for ParseNamespaces.
func (n Namespaces) String() string { return strings.Join(n.patterns, ", ") }
