package probe

import (
	"strings"
)

// Resolver is how a pod is configured for DNS.
type Resolver struct {
	Servers []string `json:"servers,omitempty"`
	Search  []string `json:"search,omitempty"`
	Options []string `json:"options,omitempty"`
}

// ParseResolver reads a resolv.conf (resolv.conf(5)): of several lines search the last one counts.
func ParseResolver(text string) Resolver {
	var r Resolver
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "nameserver":
			r.Servers = append(r.Servers, words[1])
		case "search":
			r.Search = words[1:]
		case "options":
			r.Options = append(r.Options, words[1:]...)
		}
	}
	return r
}
