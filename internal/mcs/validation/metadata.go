package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Metadata returns the exported labels and annotations that an import may have, in new maps, and what is left out, in a
// fixed order: invalid keys and values, Atoll's own keys, and what exceeds MaxMetadata or MaxKeys. The API's limit for
// annotations is 256 KiB, which leaves room for others.
func Metadata(labels, annotations map[string]string) (keptLabels, keptAnnotations map[string]string, refused []Refused) {
	keptLabels, keptAnnotations = map[string]string{}, map[string]string{}
	used := 0
	add := func(what, key, value string, into map[string]string, why string, size int) {
		switch {
		case why != "":
		case len(into) == MaxKeys:
			why = fmt.Sprintf("at most %d keys are allowed", MaxKeys)
		case used+size > MaxMetadata:
			why = fmt.Sprintf("the exported labels and annotations together must not exceed %d KiB", MaxMetadata>>10)
		}
		if why != "" {
			refused = append(refused, Refused{what + " " + quote(key), why})
			return
		}
		used += size
		into[key] = value
	}
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		value := labels[key]
		add("exported label", key, value, keptLabels, labelProblem(key, value), len(value)+recordedSize(key))
	}
	for _, key := range slices.Sorted(maps.Keys(annotations)) {
		value := annotations[key]
		add("exported annotation", key, value, keptAnnotations, keyProblem(strings.ToLower(key)), len(value)+recordedSize(key))
	}
	return keptLabels, keptAnnotations, refused
}

// recordedSize is a key's size on an import: the key itself, and its entry with quotes and comma in the annotation that
// lists exported keys.
func recordedSize(key string) int { return 2*len(key) + 3 }

func labelProblem(key, value string) string {
	if problem := keyProblem(key); problem != "" {
		return problem
	}
	return strings.Join(validation.IsValidLabelValue(value), "; ")
}

// keyProblem says why an import cannot have a key: the API refuses it, Atoll or the API reserves its domain, or tools take an
// object with the key for their own and delete it.
func keyProblem(key string) string {
	prefix, _, _ := strings.Cut(key, "/")
	switch {
	case prefix == "atoll.dev", prefix == "multicluster.kubernetes.io":
		return "Atoll reserves keys with this prefix"
	case prefix == "argocd.argoproj.io", key == "app.kubernetes.io/instance", key == "app.kubernetes.io/managed-by":
		return "GitOps tools in importing clusters would take the objects for their own"
	}
	return strings.Join(validation.IsQualifiedName(key), "; ")
}
