package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Metadata returns those of the exported labels and annotations that an import may bear, in maps that can be added to, and what is
// left out, in a fixed order: what the API refuses, keys that mean something to Atoll, and what is beyond MaxMetadata or MaxKeys. The API allows
// an object's annotations 256 KiB together, so that there is room for others' and Atoll's own.
func Metadata(labels, annotations map[string]string) (keptLabels, keptAnnotations map[string]string, refused []Refused) {
	keptLabels, keptAnnotations = map[string]string{}, map[string]string{}
	used := 0
	add := func(what, key, value string, into map[string]string, why string, size int) {
		switch {
		case why != "":
		case len(into) == MaxKeys:
			why = fmt.Sprintf("there are more than %d", MaxKeys)
		case used+size > MaxMetadata:
			why = fmt.Sprintf("with it there would be more than %d KiB", MaxMetadata>>10)
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

// recordedSize is what a key takes up on an import: itself, and once more with quotes and a comma in the annotation that lists the
// exported ones.
func recordedSize(key string) int { return 2*len(key) + 3 }

func labelProblem(key, value string) string {
	if problem := keyProblem(key); problem != "" {
		return problem
	}
	return strings.Join(validation.IsValidLabelValue(value), "; ")
}

// keyProblem says why an import can't have a key: the API refuses it, or its domain means something to Atoll or the API itself.
func keyProblem(key string) string {
	prefix, _, _ := strings.Cut(key, "/")
	if prefix == "atoll.dev" || prefix == "multicluster.kubernetes.io" {
		return "keys of this domain mean something to Atoll"
	}
	return strings.Join(validation.IsQualifiedName(key), "; ")
}
