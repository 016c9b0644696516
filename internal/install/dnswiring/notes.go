package dnswiring

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// keepers are tools that may revert a ConfigMap, identified by label or annotation. An empty value matches any.
var keepers = []struct{ key, value, note string }{
	{"addonmanager.kubernetes.io/mode", "Reconcile", "the ConfigMap has the label addonmanager.kubernetes.io/mode: Reconcile. If the cluster has an add-on manager, the add-on manager reverts this change. Check the ConfigMap again in a minute"},
	{"app.kubernetes.io/managed-by", "Helm", "the ConfigMap is part of a Helm release, and the next upgrade reverts this change. Install again after the upgrade, or put the server block into the release's values"},
	{"eks.amazonaws.com/component", "", "the ConfigMap is part of an EKS add-on. An update of the add-on with the conflict resolution OVERWRITE reverts this change: choose PRESERVE, or install again after the update"},
	{"kustomize.toolkit.fluxcd.io/name", "", fluxNote},
	{"helm.toolkit.fluxcd.io/name", "", fluxNote},
	{"argocd.argoproj.io/tracking-id", "", argoNote},
	{"argocd.argoproj.io/instance", "", argoNote},
	{"objectset.rio.cattle.io/owner-name", "", "k3s overwrites the ConfigMap when k3s starts, which reverts this change. Install again after each start of k3s"},
}

const (
	fluxNote = "Flux applies the ConfigMap from its source and reverts this change. Put the server block into the source"
	argoNote = "Argo CD applies the ConfigMap from its source and reverts this change if the application syncs itself. Put the server block into the source"
	// gardenerNote is about the NetworkPolicies that Gardener has in kube-system. The port is that of atoll-dns's pods.
	gardenerNote = "Gardener's NetworkPolicies in kube-system do not let CoreDNS connect to atoll-dns. Create a NetworkPolicy in kube-system that allows egress from CoreDNS's pods to the pods of namespace atoll-system at port 1053, UDP and TCP"
)

// gardenerPrefix begins the names of labels and annotations of Gardener's objects.
const gardenerPrefix = "resources.gardener.cloud/"

// isGardener reports whether Gardener manages a ConfigMap.
func isGardener(cm *corev1.ConfigMap) bool {
	for _, set := range []map[string]string{cm.Labels, cm.Annotations} {
		for key := range set {
			if strings.HasPrefix(key, gardenerPrefix) {
				return true
			}
		}
	}
	return false
}

// keeperNotes returns warnings about tools that may revert an edit of a ConfigMap.
func keeperNotes(cm *corev1.ConfigMap) []string {
	var all []string
	for _, k := range keepers {
		for _, set := range []map[string]string{cm.Labels, cm.Annotations} {
			if value, ok := set[k.key]; ok && (k.value == "" || value == k.value) {
				all = append(all, k.note)
			}
		}
	}
	return all
}

// notes returns warnings about the configuration of a DNS server without Atoll.
func (s source) notes(file corefile.File, zones []string, roots []listener) []string {
	var all []string
	if isGardener(s.configMap) || s.custom != nil && isGardener(s.custom) {
		all = append(all, gardenerNote)
	}
	if !slices.ContainsFunc(file.Blocks, func(b corefile.Block) bool { return b.Has("reload") }) {
		all = append(all, "the Corefile does not enable the reload plugin, so the DNS pods read the Corefile only when they start: restart the DNS pods")
	}
	for _, pattern := range file.Unread {
		all = append(all, fmt.Sprintf("the Corefile imports %s, which Atoll cannot read. Make sure that these files have no server block for %s or a zone below it, and no bind directive", pattern, strings.Join(zones, " or ")))
	}
	all = append(append(all, s.unknownPlugins(file)...), s.inlineBraces(file)...)
	for _, l := range roots {
		if len(l.absorbed) > 0 {
			all = append(all, fmt.Sprintf("a server block binds %s, and another server block for the cluster's names has no bind. Queries to %[1]s do not reach Atoll's server block, because CoreDNS runs a separate server there. Give both server blocks the same bind directive", strings.Join(l.absorbed, " ")))
		}
	}
	for _, b := range file.Blocks {
		served, _ := zonesOn(b, roots)
		all = append(all, belowNotes(fmt.Sprintf("the server block %q in line %d%s", strings.Join(b.Keys, " "), b.Line, s.keyNote(b.File)), served, zones)...)
		for _, zone := range zones {
			if !slices.ContainsFunc(served, func(above string) bool { return isBelow(zone, above) }) {
				continue
			}
			for _, d := range b.Directives {
				all = append(all, s.lineNotes(d, zone)...)
			}
		}
	}
	return all
}

// mountNotes returns a warning if running pods do not see changes of a key.
func (s source) mountNotes(configMap, key string) []string {
	for _, m := range s.mounts {
		if m.SubPath && m.Name == configMap && slices.Contains(slices.Collect(maps.Values(m.Items)), key) {
			return []string{fmt.Sprintf("the DNS pods mount the key %s with subPath, so they read a change only when they start: restart the DNS pods", key)}
		}
	}
	return nil
}

// lineNotes returns warnings about lines of a directive that have names of a zone.
func (s source) lineNotes(d corefile.Directive, zone string) (all []string) {
	line := mention(d, zone)
	switch {
	case line == nil:
	case rewritesInto(line, zone):
		all = append(all, fmt.Sprintf("the line %q of the directive %s in line %d%s rewrites names to names in %s, but CoreDNS has chosen the server block before: Atoll's server block does not answer these queries. Clients must query the name in %[5]s itself", strings.Join(line, " "), d.Name, d.Line, s.keyNote(d.File), zone))
	default:
		all = append(all, fmt.Sprintf("the line %q of the directive %s in line %d%s no longer applies to names in %s, because Atoll's server block answers queries for these names", strings.Join(line, " "), d.Name, d.Line, s.keyNote(d.File), zone))
	}
	if d.Name != "hosts" || len(d.Args) == 0 {
		return all
	}
	// k3s and others mount the file from a ConfigMap.
	files, _ := s.directory(path.Dir(d.Args[0]))
	file, found := files[path.Base(d.Args[0])]
	if !found {
		return all
	}
	for text := range strings.Lines(file.text()) {
		text, _, _ = strings.Cut(text, "#")
		if words := strings.Fields(text); slices.ContainsFunc(words, func(word string) bool { return isIn(word, zone) }) {
			return append(all, fmt.Sprintf("the line %q of the key %s of configmap %s, a file of the directive hosts in line %d%s, no longer applies: Atoll's server block answers for %s", strings.Join(words, " "), file.key, nameOf(file.configMap), d.Line, s.keyNote(d.File), zone))
		}
	}
	return all
}

// mention returns the first line of a directive with a name of a zone, or with a pattern for its services; or nil.
func mention(d corefile.Directive, zone string) []string {
	for _, line := range slices.Concat([][]string{append([]string{d.Name}, d.Args...)}, d.Body) {
		if slices.ContainsFunc(line, func(word string) bool { return isIn(word, zone) }) || matches(line, zone) {
			return line
		}
	}
	return nil
}

// matches reports whether the regular expression of a line of rewrite or template matches a name in a zone. The text
// need not have the zone's name, as in (.*)\.clusterset\..*
func matches(line []string, zone string) bool {
	for i, word := range line[:len(line)-1] {
		if word != "regex" && word != "match" {
			continue
		}
		// The sample is not the only name that a pattern can have, but a pattern for a single name has the zone's name.
		pattern, err := regexp.Compile(line[i+1])
		if sample := "name.namespace." + servicesOf(zone); err == nil && (pattern.MatchString(sample) || pattern.MatchString(sample+".")) {
			return true
		}
	}
	return false
}

// literal removes what makes a dot literal in a regular expression.
var literal = strings.NewReplacer(`\`, "", "[.]", ".")

// isIn reports whether a word of a directive has a name of a zone. Regular expressions escape dots.
func isIn(word, zone string) bool {
	word = corefile.Zone(strings.TrimSuffix(literal.Replace(word), "$"))
	return word == zone || strings.Contains("."+word+".", "."+zone+".")
}

// rewritesInto reports whether a line of the plugin rewrite has a name of a zone only as the new name:
// [rewrite] [continue|stop] name [MATCH] FROM TO.
func rewritesInto(line []string, zone string) bool {
	at := slices.Index(line, "name")
	if line[0] != "rewrite" && line[0] != "name" || at < 0 {
		return false
	}
	words := line[at+1:]
	if len(words) > 2 && slices.Contains([]string{"exact", "prefix", "suffix", "substring", "regex"}, words[0]) {
		words = words[1:]
	}
	return len(words) >= 2 && !isIn(words[0], zone) && isIn(words[1], zone)
}
