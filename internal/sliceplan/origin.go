package sliceplan

import (
	"cmp"
	"slices"
	"strconv"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/names"
)

// originAnnotations say what source slice a slice of ours was made from.
func originAnnotations(source string, part int) map[string]string {
	return map[string]string{
		names.AnnotationSourceSlice: source,
		names.AnnotationSourcePart:  strconv.Itoa(part),
	}
}

// origin reads what originAnnotations wrote.
func origin(slice *discoveryv1.EndpointSlice) (source string, part int, ok bool) {
	source = slice.Annotations[names.AnnotationSourceSlice]
	part, err := strconv.Atoi(slice.Annotations[names.AnnotationSourcePart])
	return source, part, source != "" && err == nil
}

// existing are the parts that there are of source slices, by the source's name, sorted by
// number.
type existing map[string][]part

// partsOf sorts slices of ours by their sources. One whose annotations do not agree with
// its name, which nobody but us knows how to make, counts for nothing.
func partsOf(have []*discoveryv1.EndpointSlice, name func(source string, part int) string) existing {
	all := existing{}
	for _, h := range have {
		if source, number, ok := origin(h); ok && (h.Name == name(source, number) || h.Name == names.OtherImportedSlice(name(source, number))) {
			all[source] = append(all[source], part{number, h.Endpoints})
		}
	}
	for _, parts := range all {
		slices.SortFunc(parts, func(a, b part) int { return cmp.Compare(a.number, b.number) })
	}
	return all
}
