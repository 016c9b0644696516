package revision

import (
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func with(revision string) *metav1.ObjectMeta {
	return &metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationRevision: revision}}
}

// What another cluster wrote may be anything: a revision that leaves no room for the next one would be the last one for ever.
func TestOf(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "0": 0, "1": 1, "-1": 0, "x": 0, "1.5": 0, " 1": 0, "1767323045000": 1767323045000,
		"9007199254740992": 1 << 53, "9007199254740993": 0, "9223372036854775807": 0, "9223372036854775808": 0,
	} {
		if got := Of(with(text)); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
	if got := Of(&metav1.ObjectMeta{}); got != 0 || !Time(&metav1.ObjectMeta{}).IsZero() {
		t.Errorf("without any: %d", got)
	}
}

// Revisions grow by the clock, and also where it was set back.
func TestSet(t *testing.T) {
	now := time.UnixMilli(1767323045000)
	for last, want := range map[int64]int64{0: now.UnixMilli(), now.UnixMilli() - 1: now.UnixMilli(), now.UnixMilli(): now.UnixMilli() + 1, 1 << 52: 1<<52 + 1} {
		for _, object := range []*metav1.ObjectMeta{{}, with("7")} {
			Set(object, last, now)
			if got := Of(object); got != want || !Time(object).Equal(time.UnixMilli(want)) {
				t.Errorf("after %s: %d, want %d", strconv.FormatInt(last, 10), got, want)
			}
		}
	}
}
