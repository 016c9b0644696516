// Package revision numbers the versions of an object on the broker, so that importers recognise an older
// version.
package revision

import (
	"fmt"
	"regexp"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Pattern is what a revision looks like: 1 to 18 digits, so that it fits an int64 and leaves room for later ones.
const Pattern = "^[1-9][0-9]{0,17}$"

var pattern = regexp.MustCompile(Pattern)

// Of returns an object's revision, or 0 if it is missing or invalid.
func Of(object metav1.Object) int64 {
	text := object.GetAnnotations()[names.AnnotationRevision]
	if !pattern.MatchString(text) {
		return 0
	}
	revision, _ := strconv.ParseInt(text, 10, 64) // cannot fail
	return revision
}

// Problem says why an object's revision is invalid, "" if it is not. Importers compare revisions, so an object without one would
// be compared again and again.
func Problem(object metav1.Object) string {
	if Of(object) > 0 {
		return ""
	}
	return fmt.Sprintf("the annotation %s must be a number of 1 to 18 digits that does not begin with 0, not %.70q", names.AnnotationRevision, object.GetAnnotations()[names.AnnotationRevision])
}
