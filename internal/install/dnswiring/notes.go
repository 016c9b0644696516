package dnswiring

import (
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// keepers are tools that may revert a ConfigMap, identified by label or annotation. An empty value matches any.
var keepers = []struct{ key, value, note string }{
	{"addonmanager.kubernetes.io/mode", "Reconcile", "the ConfigMap has the label addonmanager.kubernetes.io/mode: Reconcile. If the cluster has an add-on manager, the add-on manager reverts this change. Check the ConfigMap again in a minute"},
	{"app.kubernetes.io/managed-by", "Helm", "the ConfigMap is part of a Helm release, and the next upgrade reverts this change. Install again after the upgrade, or put the server block into the release's values"},
	{"eks.amazonaws.com/component", "", "the ConfigMap is part of an EKS add-on. An update of the add-on with the conflict resolution OVERWRITE reverts this change: choose PRESERVE, or install again after the update"},
	{"objectset.rio.cattle.io/owner-name", "", "k3s overwrites the ConfigMap when k3s starts, which reverts this change. Install again after each start of k3s"},
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
		all = append(all, "the Corefile does not enable the reload plugin, so the DNS pods read the Corefile only when they start: restart the DNS pods")
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
