package metadata

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

// room is what exported labels and annotations may take up, in bytes, of the 256 KiB that the
// API allows an object's annotations together: enough is left for others' and Atoll's own.
const room = 128 << 10

// Exportable returns those of the exported labels and annotations that an import may bear, in
// maps that can be added to, and says of the others why not, in a fixed order. One exporter's
// mistake must neither take the service away from everybody nor set keys that mean something to
// the controllers; and no API server may have a reason to refuse the import.
func Exportable(all Set) (kept Set, leftOut []string) {
	kept = Set{Labels: map[string]string{}, Annotations: map[string]string{}}
	used := 0
	add := func(what, key, value string, into map[string]string, problem string, size int) {
		if problem == "" && used+size > room {
			problem = fmt.Sprintf("with it there would be more than %d KiB", room>>10)
		}
		if problem != "" {
			leftOut = append(leftOut, fmt.Sprintf("%s %q: %s", what, shortened(key), problem))
			return
		}
		used += size
		into[key] = value
	}
	for _, key := range slices.Sorted(maps.Keys(all.Labels)) {
		add("label", key, all.Labels[key], kept.Labels, labelProblem(key, all.Labels[key]), recordedSize(key))
	}
	for _, key := range slices.Sorted(maps.Keys(all.Annotations)) {
		value := all.Annotations[key]
		add("annotation", key, value, kept.Annotations, keyProblem(strings.ToLower(key)), len(key)+len(value)+recordedSize(key))
	}
	return kept, leftOut
}

// recordedSize is what a key takes up in the annotation that lists the exported ones: itself,
// quotes and a comma.
func recordedSize(key string) int { return len(key) + 3 }

func labelProblem(key, value string) string {
	if problem := keyProblem(key); problem != "" {
		return problem
	}
	return strings.Join(validation.IsValidLabelValue(value), "; ")
}

func keyProblem(key string) string {
	prefix, _, _ := strings.Cut(key, "/")
	if prefix == "atoll.dev" || prefix == "multicluster.kubernetes.io" {
		return "keys of this domain mean something to Atoll"
	}
	return strings.Join(validation.IsQualifiedName(key), "; ")
}

// shortened is a key for people to read, of which there is no limit before it is judged.
func shortened(key string) string {
	const most = 100
	if len(key) > most {
		return strings.ToValidUTF8(key[:most], "") + "…"
	}
	return key
}
