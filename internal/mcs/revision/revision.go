// Package revision numbers the versions of one object on the broker, so that importers can tell an older version of it, from a restored
// backup for example, from a newer one.
package revision

import (
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// highest is far beyond any time, and leaves room for the revisions that follow.
const highest = 1 << 53

// Of returns an object's revision, 0 where it has none that can be read.
func Of(object metav1.Object) int64 {
	revision, err := strconv.ParseInt(object.GetAnnotations()[names.AnnotationRevision], 10, 64)
	if err != nil || revision < 0 || revision > highest {
		return 0
	}
	return revision
}

// Set gives an object the revision that follows last: the time in milliseconds, or last + 1 where that is higher. It changes the object's
// annotations in place.
func Set(object metav1.Object, last int64, now time.Time) {
	annotations := object.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[names.AnnotationRevision] = strconv.FormatInt(max(now.UnixMilli(), last+1), 10)
	object.SetAnnotations(annotations)
}

// Time returns when an object was written, by its owner's clock, as its revision says; the zero time where it has none.
func Time(object metav1.Object) time.Time {
	if of := Of(object); of > 0 {
		return time.UnixMilli(of)
	}
	return time.Time{}
}
