package dnswiring

import (
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// rewriting is the rule of a directive rewrite for names of queries, as CoreDNS reads it. Other rules do not change these
// names, and have no rewriting.
type rewriting struct{ kind, from string }

// rewritingOf reads [continue|stop] name [MATCH] FROM TO.
func rewritingOf(d corefile.Directive) (r rewriting) {
	if d.Name != "rewrite" {
		return r
	}
	words := d.Args
	if len(words) < 2 { // a rule in braces
		words = slices.Concat(words, slices.Concat(d.Body...))
	}
	if len(words) > 0 && (strings.EqualFold(words[0], "continue") || strings.EqualFold(words[0], "stop")) {
		words = words[1:]
	}
	switch {
	case len(words) < 3 || !strings.EqualFold(words[0], "name"):
		return r
	case len(words) == 3:
		return rewriting{"exact", qualified(words[1])}
	case strings.EqualFold(words[1], "regex"):
		return rewriting{"regex", words[2]}
	}
	return rewriting{strings.ToLower(words[1]), qualified(words[2])}
}

func qualified(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) + "." }

// changes reports whether the rule changes a name.
func (r rewriting) changes(name string) bool {
	switch r.kind {
	case "exact":
		return name == r.from
	case "prefix":
		return strings.HasPrefix(name, r.from)
	case "suffix":
		return strings.HasSuffix(name, r.from)
	case "substring":
		return strings.Contains(name, r.from)
	case "regex":
		pattern, err := regexp.Compile(r.from)
		return err == nil && pattern.MatchString(name)
	}
	return false
}

// changesAll reports whether the rule changes the names of all services of a zone. Its labels are so odd that a rule for
// some services does not match the sample.
func (r rewriting) changesAll(zone string) bool {
	return r.changes("qxjzv.wkqpy." + servicesOf(zone) + ".")
}

// below returns the name below a zone that the rule changes with all names below it, or "".
func (r rewriting) below(zone string) string {
	name := strings.Trim(r.from, ".")
	if (r.kind != "exact" && r.kind != "suffix") || !isBelow(name, zone) || covers(name, servicesOf(zone)) {
		return ""
	}
	return name
}

// rewrites returns routes for the names of a zone that a block for a zone above them rewrites, or answers by itself.
func (s source) rewrites(b corefile.Block, served, zone string) (routes []route) {
	for _, d := range b.Directives {
		named := hostsIn(d, zone)
		if name := rewritingOf(d).below(zone); name != "" {
			named = append(named, name)
		}
		for _, name := range named {
			if covers(served, name) {
				by := fmt.Sprintf("the directive %q in line %d%s", firstLine(d), d.Line, s.keyNote(d.File))
				routes = append(routes, route{zone: name, by: by})
			}
		}
	}
	return routes
}

// hostsIn returns the names in a zone of the lines ADDRESS NAME... of the plugin hosts.
func hostsIn(d corefile.Directive, zone string) (names []string) {
	for _, line := range d.Body {
		if _, err := netip.ParseAddr(line[0]); err != nil || d.Name != "hosts" {
			continue
		}
		for _, word := range line[1:] {
			if name := corefile.Zone(word); isBelow(name, zone) && name != servicesOf(zone) {
				names = append(names, name)
			}
		}
	}
	return names
}
