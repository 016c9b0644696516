package dnswiring

import (
	"slices"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// later are plugins that CoreDNS runs after forward, or that do not handle queries.
var later = []string{"erratic", "forward", "grpc", "on", "whoami"}

// zoneArguments is the number of arguments before the zones of a plugin; 0 for others.
var zoneArguments = map[string]int{"file": 1, "hosts": 1, "template": 2}

// obstructs reports whether a directive of a block may keep queries for a zone from being forwarded. If Atoll cannot
// tell, it does, except for rewrites: those that match only some services leave the others.
func obstructs(d corefile.Directive, served, zone string) bool {
	switch {
	case d.Name == "view" || d.Name == "tsig":
		return true // the block is not for every query
	case d.Name == "acl":
		return namesZone(d, served, zone) && bodyHas(d, "block", "filter", "drop")
	case d.Name == "rewrite":
		return rewritingOf(d).changesAll(zone)
	case slices.Contains(silent, d.Name) || slices.Contains(later, d.Name):
		return false
	default:
		return namesZone(d, served, zone) && !fallsThrough(d, zone)
	}
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
