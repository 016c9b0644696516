package dnswiring

import (
	"fmt"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// hasOwnPlugins reports whether an image is one of CoreDNS's project, which has only CoreDNS's own plugins.
func hasOwnPlugins(image string) bool {
	name, _, _ := strings.Cut(image, "@")
	for _, official := range []string{"coredns/coredns", "docker.io/coredns/coredns", "registry.k8s.io/coredns/coredns", "k8s.gcr.io/coredns/coredns"} {
		if name == official || strings.HasPrefix(name, official+":") {
			return true
		}
	}
	return false
}

// unknownPlugins describes directives that are no plugins of CoreDNS itself.
func (s source) unknownPlugins(file corefile.File) (texts []string) {
	for _, b := range file.Blocks {
		for _, d := range b.Directives {
			if isForeign(d) {
				texts = append(texts, fmt.Sprintf("the directive %q in line %d%s is no plugin of CoreDNS %s. If CoreDNS's image does not have the plugin, CoreDNS does not start", d.Name, d.Line, s.keyNote(d.File), pluginsOf))
			}
		}
	}
	return texts
}

// inlineBraces describes directives whose closing brace is behind other words. Most plugins then fail.
func (s source) inlineBraces(file corefile.File) (texts []string) {
	for _, b := range file.Blocks {
		for _, d := range b.Directives {
			if d.EndsInline {
				texts = append(texts, fmt.Sprintf("the closing brace of the directive %q in line %d%s must be on its own line. CoreDNS takes the brace for an argument and may not start", d.Name, d.Line, s.keyNote(d.File)))
			}
		}
	}
	return texts
}
