package merge

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// mergeIPFamilies returns the union of the exports' families, in the oldest's order. A difference is a conflict,
// because a single-family client reaches only some of the clusters (mcs-api, ServiceExportReasonIPFamilyConflict). The
// order does not matter.
func mergeIPFamilies(exports []Export) ([]corev1.IPFamily, []Conflict) {
	var union []corev1.IPFamily
	for _, e := range exports {
		for _, f := range e.IPFamilies {
			if !slices.Contains(union, f) {
				union = append(union, f)
			}
		}
	}
	disagree := 0
	only := map[string][]string{} // clusters by their families
	for _, e := range exports {
		if len(e.IPFamilies) != len(union) {
			disagree++
			only[list(e.IPFamilies)] = append(only[list(e.IPFamilies)], e.ClusterID)
		}
	}
	if disagree == 0 {
		return union, nil
	}
	var parts []string
	for _, f := range union {
		if clusters := only[string(f)]; len(clusters) > 0 {
			parts = append(parts, fmt.Sprintf("Clusters that export only %s addresses: %s.", f, names.ListClusters(clusters)))
		}
	}
	return union, []Conflict{{
		Reason: mcsv1beta1.ServiceExportReasonIPFamilyConflict,
		Message: fmt.Sprintf("Conflicting IP families. Using %q from all service exports, in the order of the oldest service export in %q. %d/%d clusters disagree. %s",
			list(union), exports[0].ClusterID, disagree, len(exports), strings.Join(parts, " ")),
	}}
}

func list(families []corev1.IPFamily) string {
	texts := make([]string, len(families))
	for i, f := range families {
		texts[i] = string(f)
	}
	return strings.Join(texts, ", ")
}
