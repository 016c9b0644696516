package dnswiring

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// keepers are tools that may revert a ConfigMap, identified by label or annotation. An empty value matches any.
var keepers = []struct{ key, value, note string }{
	{"addonmanager.kubernetes.io/mode", "Reconcile", "a cluster's add-on manager, if there is one, takes this change back (label addonmanager.kubernetes.io/mode: Reconcile); look again in a minute"},
	{"app.kubernetes.io/managed-by", "Helm", "it is part of a Helm release, whose next upgrade takes this change back: install again after it, or put the server block into the release's values"},
	{"eks.amazonaws.com/component", "", "it is part of an EKS add-on, whose next update takes this change back if it is made with the conflict resolution OVERWRITE: choose PRESERVE, or install again after it"},
	{"objectset.rio.cattle.io/owner-name", "", "k3s writes it anew when it starts, which takes this change back: install again after it"},
}

// notes returns warnings about an edit of a ConfigMap; text is the main Corefile.
func notes(cm *corev1.ConfigMap, text string) []string {
	var all []string
	for _, k := range keepers {
		for _, set := range []map[string]string{cm.Labels, cm.Annotations} {
			if value, ok := set[k.key]; ok && (k.value == "" || value == k.value) {
				all = append(all, k.note)
			}
		}
	}
	if !reloads(text) {
		all = append(all, "its Corefile has no plugin reload: restart its pods, for they read it only when they start")
	}
	return all
}

// reloads reports whether CoreDNS reloads its Corefile by itself.
func reloads(text string) bool {
	file, err := corefile.Parse(text)
	return err == nil && slices.ContainsFunc(file.Blocks, func(b corefile.Block) bool {
		return slices.ContainsFunc(b.Directives, func(d corefile.Directive) bool { return d.Name == "reload" })
	})
}
