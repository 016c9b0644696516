// Package revision numbers the versions of an object on the broker, so that importers recognise an older
// version.
package revision

import (
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// highest is far beyond any real revision, and leaves room for later ones.
const highest = 1 << 53

// Of returns an object's revision, or 0 if it is missing or invalid.
func Of(object metav1.Object) int64 {
	revision, err := strconv.ParseInt(object.GetAnnotations()[names.AnnotationRevision], 10, 64)
	if err != nil || revision < 0 || revision > highest {
		return 0
	}
	return revision
}
