package revision

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func with(revision string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationRevision: revision}}
}

// Another cluster can write any revision. A revision without a successor would block all later
// revisions, so it counts as 0.
func TestOf(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "0": 0, "1": 1, "-1": 0, "x": 0, "1.5": 0, " 1": 0, "1767323045000": 1767323045000,
		"999999999999999999": 1e18 - 1, "1000000000000000000": 0, "9223372036854775807": 0, "9223372036854775808": 0, "01": 0, "+1": 0, "1\n": 0,
	} {
		if got := Of(with(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
		if problem := Problem(with(text)); (problem == "") != (want > 0) {
			t.Errorf("%q: %q", text, problem)
		}
	}
	if got := Of(&metav1.ObjectMeta{}); got != 0 {
		t.Errorf("without any: %d", got)
	}
}
