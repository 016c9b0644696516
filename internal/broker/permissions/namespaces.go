package permissions

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Namespaces is a set of namespaces, made of names and of prefixes that end in *. The zero value has none.
type Namespaces struct {
	patterns []string // sorted, each once
}

// Separators are the characters between the words of a value. The admission policy separates words by the same.
const Separators = ", \t\r\n"

// ParseNamespaces reads names such as shop and prefixes such as team-a-*, separated by commas or white space. * alone is all
// namespaces. The set is without the words that are neither; the error names all of these, one in a line.
func ParseNamespaces(text string) (Namespaces, error) {
	var patterns []string
	var mistakes []error
	for _, word := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(Separators, r) }) {
		if !isPattern(word) {
			mistakes = append(mistakes, fmt.Errorf("%.70q is neither the name of a namespace nor the beginning of one followed by *", word))
			continue
		}
		patterns = append(patterns, word)
	}
	slices.Sort(patterns)
	return Namespaces{slices.Compact(patterns)}, errors.Join(mistakes...)
}

// isPattern tells whether a word is the name of a namespace, or the beginning of one followed by *.
func isPattern(word string) bool {
	prefix, isPrefix := strings.CutSuffix(word, "*")
	if isPrefix && len(prefix) < validation.DNS1123LabelMaxLength {
		prefix += "x" // so that a hyphen may be before the *
	}
	return len(validation.IsDNS1123Label(prefix)) == 0
}

// Contains tells whether a namespace is in the set.
func (n Namespaces) Contains(namespace string) bool {
	return slices.ContainsFunc(n.patterns, func(p string) bool {
		prefix, isPrefix := strings.CutSuffix(p, "*")
		return p == namespace || isPrefix && strings.HasPrefix(namespace, prefix)
	})
}

// Equal tells whether two sets are made of the same patterns.
func (n Namespaces) Equal(other Namespaces) bool { return slices.Equal(n.patterns, other.patterns) }

// Texts are the patterns, sorted; an empty list for none.
func (n Namespaces) Texts() []string { return append([]string{}, n.patterns...) }

// String writes the set as ParseNamespaces reads it.
func (n Namespaces) String() string { return strings.Join(n.patterns, ", ") }
