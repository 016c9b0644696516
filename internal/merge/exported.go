package merge

import (
	"maps"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// ImportLabels returns those of the exported labels that an import may bear, in a map that
// can be added to.
func (r Resolution) ImportLabels() map[string]string { return exported(r.Labels, validLabel) }

// ImportAnnotations returns those of the exported annotations that an import may bear, in a
// map that can be added to.
func (r Resolution) ImportAnnotations() map[string]string {
	return exported(r.Annotations, validAnnotation)
}

// exported copies exported labels or annotations without those that have a meaning
// to the controllers themselves: nobody may set these from elsewhere. What the API server
// would refuse is left out too: an exporter that lets it pass must not stop the others.
func exported(from map[string]string, valid func(key, value string) bool) map[string]string {
	kept := maps.Clone(from)
	if kept == nil {
		kept = map[string]string{}
	}
	maps.DeleteFunc(kept, func(key, value string) bool {
		prefix, _, _ := strings.Cut(key, "/")
		return prefix == "atoll.dev" || prefix == "multicluster.kubernetes.io" || !valid(key, value)
	})
	return kept
}

func validLabel(key, value string) bool {
	return len(validation.IsQualifiedName(key))+len(validation.IsValidLabelValue(value)) == 0
}

// maxAnnotation keeps some annotations of this length together below the API's limit of
// 256 KiB.
const maxAnnotation = 64 << 10

func validAnnotation(key, value string) bool {
	return len(validation.IsQualifiedName(strings.ToLower(key))) == 0 && len(value) <= maxAnnotation
}
