package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

const labelsIntro = `# Labels, annotations and conditions

These tables list labels, annotations and conditions of Atoll and of the Multi-Cluster Services API that Atoll writes or reads.
[Architecture](../explanation/architecture.md) lists the objects. [Rules](rules.md) describes the conditions of ServiceExports and
ServiceImports, and [Messages](messages.md) the reasons of all conditions.
`

// sections are the tables of the page: the constants of a package whose names begin so.
var sections = []struct{ title, folder, prefix string }{
	{"Labels", "internal/mcs/names", "Label"},
	{"Annotations", "internal/mcs/names", "Annotation"},
	{"Annotations of a MultiClusterService, for its load balancer", "cloudprovider", "Annotation"},
	{"Finalizers", "internal/mcs/names", "Finalizer"},
	{"Values", "internal/mcs/names", "AgentManager AggregateManager ExportsAllowed OnLoss"},
	{"Conditions of a MultiClusterService", "api/networking/v1alpha1", "Condition"},
	{"Conditions of a TrafficPolicy's target", "api/traffic/v1alpha1", "Condition"},
}

// labelsPage is the reference of what stands in metadata and conditions.
func labelsPage(root string) (string, error) {
	var b strings.Builder
	b.WriteString(labelsIntro)
	for _, section := range sections {
		s, err := read(root, section.folder)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "\n## %s\n\n| | |\n|---|---|\n", section.title)
		rows := 0
		for _, c := range s.consts {
			if !slices.ContainsFunc(strings.Fields(section.prefix), func(p string) bool { return strings.HasPrefix(c.name, p) }) {
				continue
			}
			text := s.named(withoutName(flow(c.comment.text), c.name))
			fmt.Fprintf(&b, "| `%s` | %s |\n", c.value, strings.ReplaceAll(strings.ReplaceAll(text, "\n\n", " "), "|", `\|`))
			rows++
		}
		if rows == 0 {
			return "", fmt.Errorf("%s has no constants %s…", section.folder, section.prefix)
		}
	}
	return b.String(), nil
}

var identifier = regexp.MustCompile(`\b[A-Z][A-Za-z]+\b`)

// named puts values in the place of the names of constants.
func (s *source) named(text string) string {
	return identifier.ReplaceAllStringFunc(text, func(name string) string {
		i := slices.IndexFunc(s.consts, func(c constant) bool { return c.name == name })
		if i < 0 {
			return name
		}
		return "`" + s.consts[i].value + "`"
	})
}
