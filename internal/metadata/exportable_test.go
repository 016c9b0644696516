package metadata

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	v1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/names"
)

// What can't be borne is left out, and said; the rest is exported.
func TestExportable(t *testing.T) {
	long := strings.Repeat("x", 64)
	kept, leftOut := Exportable(Set{
		Labels: map[string]string{
			"team": "platform", "example.org/tier": "", "bad": "platform team", "a b": "c", "long": long,
			"atoll.dev/managed-by": "me", "multicluster.kubernetes.io/source-cluster": "c9",
		},
		Annotations: map[string]string{
			"Note": "any text", "a b": "c", "big": strings.Repeat("x", room), "zzz": "z", "atoll.dev/clusterset-ips": "10.0.0.1",
			strings.Repeat("k", 500): "",
		},
	})
	if keys := slices.Sorted(maps.Keys(kept.Labels)); !slices.Equal(keys, []string{"example.org/tier", "team"}) {
		t.Errorf("labels %v", keys)
	}
	if keys := slices.Sorted(maps.Keys(kept.Annotations)); !slices.Equal(keys, []string{"Note", "zzz"}) {
		t.Errorf("annotations %v", keys)
	}
	want := []string{
		`label "a b": name part must consist of`, `label "atoll.dev/managed-by": keys of this domain`, `label "bad": a valid label must`,
		`label "long": must be no more than 63`, `label "multicluster.kubernetes.io/source-cluster": keys of this domain`,
		`annotation "a b": name part must`, `annotation "atoll.dev/clusterset-ips": keys`, `annotation "big": with it there would be more than 128 KiB`,
		`annotation "` + strings.Repeat("k", 100) + `…": name part must be no more`,
	}
	if len(leftOut) != len(want) {
		t.Fatalf("left out %q", leftOut)
	}
	for i, w := range want {
		if !strings.HasPrefix(leftOut[i], w) {
			t.Errorf("left out %q, want %q", leftOut[i], w)
		}
	}
	none, leftOut := Exportable(Set{})
	if none.Labels == nil || none.Annotations == nil || leftOut != nil {
		t.Errorf("of nothing: %v, %v", none, leftOut)
	}
}

// Whatever is exported, an object that bears what is kept of it is one that the API accepts, with
// room for others' annotations; all is kept or named, and keeping what was kept changes nothing.
func TestExportableIsAccepted(t *testing.T) {
	text := rapid.OneOf(rapid.StringMatching(`[a-zA-Z0-9./_-]{1,70}`), rapid.Just(strings.Repeat("x", 40<<10)), rapid.String())
	drawMap := rapid.MapOf(rapid.OneOf(rapid.StringMatching(`[a-z]{1,3}(/[a-zA-Z0-9._-]{1,64})?`), text), text)
	rapid.Check(t, func(t *rapid.T) {
		all := Set{Labels: drawMap.Draw(t, "labels"), Annotations: drawMap.Draw(t, "annotations")}
		kept, leftOut := Exportable(all)
		if n := len(kept.Labels) + len(kept.Annotations) + len(leftOut); n != len(all.Labels)+len(all.Annotations) {
			t.Errorf("%d are kept or named", n)
		}
		again, none := Exportable(kept)
		if !maps.Equal(again.Labels, kept.Labels) || !maps.Equal(again.Annotations, kept.Annotations) || none != nil {
			t.Errorf("of what is kept, %v is left out", none)
		}
		object := &metav1.ObjectMeta{}
		Apply(object, kept)
		problems := v1validation.ValidateLabels(object.Labels, field.NewPath("labels"))
		problems = append(problems, apivalidation.ValidateAnnotations(object.Annotations, field.NewPath("annotations"))...)
		if len(problems) > 0 {
			t.Errorf("refused: %v", problems)
		}
		size := 0
		for key, value := range object.Annotations {
			size += len(key) + len(value)
		}
		if size > room+1<<10 {
			t.Errorf("%d bytes of annotations", size)
		}
		var record record
		if text := object.Annotations[names.AnnotationExported]; text != "" && json.Unmarshal([]byte(text), &record) != nil {
			t.Errorf("record %s", text)
		}
	})
}
