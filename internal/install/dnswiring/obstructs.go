package dnswiring

import (
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// later are plugins that CoreDNS runs after forward, or that do not handle queries.
var later = []string{"erratic", "forward", "grpc", "on", "whoami"}

// zoneArguments is the number of arguments before the zones of a plugin; 0 for others.
var zoneArguments = map[string]int{"file": 1, "hosts": 1, "template": 2}

// pluginsOf is the version of CoreDNS whose plugins Atoll knows.
const pluginsOf = "1.15"

// answering are CoreDNS's other plugins: they answer queries.
var answering = []string{
	"auto", "azure", "clouddns", "dynupdate", "etcd", "file", "hosts", "k8s_external", "kubernetes", "nomad", "route53", "secondary", "template",
}

// isForeign reports whether a plugin is not CoreDNS's own.
func isForeign(d corefile.Directive) bool {
	return !slices.Contains(silent, d.Name) && !slices.Contains(later, d.Name) && !slices.Contains(answering, d.Name)
}

// obstruction is what a directive means for queries that a later plugin forwards.
type obstruction int

const (
	passes obstruction = iota
	unclear
	obstructed
)

// obstructs returns whether a directive of a block keeps queries for a zone from being forwarded. Rewrites that match only
// some services leave the others.
func obstructs(d corefile.Directive, served, zone string) obstruction {
	switch {
	case d.Name == "view" || d.Name == "tsig" || isForeign(d) && served != "":
		return unclear // the block is not for every query, or nobody knows
	case d.Name == "rewrite" && rewritingOf(d).changesAll(zone):
		return obstructed
	case d.Name != "acl" && (slices.Contains(silent, d.Name) || slices.Contains(later, d.Name)), !namesZone(d, served, zone):
		return passes
	case isForeign(d):
		return unclear
	case d.Name == "acl":
		return aclObstructs(d)
	case d.Name == "template":
		return templateObstructs(d, zone)
	case fallsThrough(d, zone):
		return passes
	}
	return obstructed
}

// aclObstructs reads lines ACTION [type TYPE...] [net SOURCE...], the first of which that matches a query counts.
func aclObstructs(d corefile.Directive) obstruction {
	is := passes
	for _, line := range d.Body {
		if line[0] == "allow" {
			is = unclear // for later lines
			continue
		}
		at := slices.Index(line, "net")
		if at < 0 {
			at = len(line)
		}
		all := at == len(line) || slices.Contains(line[at:], "*")
		if is == passes && all && (at == 1 || forTypes(line[1:at], "A", "ANY", "*")) {
			return obstructed
		}
		is = unclear
	}
	if !bodyHas(d, "block", "filter", "drop") {
		return passes
	}
	return is
}

// templateObstructs reads template CLASS TYPE [ZONE...]. A template without fallthrough answers all queries of its type: it
// fails for those that do not match.
func templateObstructs(d corefile.Directive, zone string) obstruction {
	kind := d.Args[min(1, len(d.Args)):min(2, len(d.Args))]
	switch matched := func(line []string) bool { return matches(line, zone) }; {
	case !forTypes(kind, "A", "AAAA", "ANY"):
		return passes
	case forTypes(kind, "AAAA"):
		return unclear
	case !fallsThrough(d, zone), !bodyHas(d, "match"), slices.ContainsFunc(d.Body, matched):
		return obstructed
	}
	return unclear // for some names
}

func forTypes(words []string, types ...string) bool {
	return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(types, strings.ToUpper(word)) })
}

// namesZone reports whether a directive is for a zone or its services. Without zones, it is for the zone of its block.
func namesZone(d corefile.Directive, served, zone string) bool {
	zones := []string{served}
	if skip := zoneArguments[d.Name]; len(d.Args) > skip {
		zones = zonesOf(d.Args[skip:])
	}
	return slices.ContainsFunc(zones, func(z string) bool {
		return z == variableZone || covers(z, zone) || z == servicesOf(zone)
	})
}

// fallsThrough reports whether a plugin leaves names of a zone that it does not have to the next plugin.
func fallsThrough(d corefile.Directive, zone string) bool {
	return slices.ContainsFunc(d.Body, func(line []string) bool {
		return line[0] == "fallthrough" && (len(line) == 1 || slices.ContainsFunc(zonesOf(line[1:]), func(z string) bool { return covers(z, zone) }))
	})
}

// excepts reports whether the plugin forward does not forward all names of a zone.
func excepts(d corefile.Directive, zone string) bool {
	return slices.ContainsFunc(d.Body, func(line []string) bool {
		return line[0] == "except" && slices.ContainsFunc(zonesOf(line[1:]), func(z string) bool {
			return z == variableZone || covers(z, zone) || isBelow(z, zone)
		})
	})
}

func bodyHas(d corefile.Directive, words ...string) bool {
	return slices.ContainsFunc(d.Body, func(line []string) bool { return slices.Contains(words, line[0]) })
}

// covers reports whether a zone is another one or above it.
func covers(zone, other string) bool { return zone == other || isBelow(other, zone) }
