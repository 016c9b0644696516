package metadata

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// A corrupt record of exported metadata is written again, and metadata of other writers stays.
func TestApplyWithASpoiltRecord(t *testing.T) {
	object := &metav1.ObjectMeta{Labels: map[string]string{"theirs": "1"}, Annotations: map[string]string{names.AnnotationExported: `{"labels":`}}
	Apply(object, Set{Labels: map[string]string{"team": "a"}})
	if diff := cmp.Diff(&metav1.ObjectMeta{
		Labels: map[string]string{"theirs": "1", "team": "a"}, Annotations: map[string]string{names.AnnotationExported: `{"labels":["team"]}`},
	}, object); diff != "" {
		t.Error(diff)
	}
}

// Whatever is exported over time and whatever other writers do, in the end there are exactly
// the last exported keys and the keys of other writers.
func TestOthersKeysStayAndWithdrawnOnesGo(t *testing.T) {
	exported := rapid.MapOf(rapid.SampledFrom([]string{"a", "b", "c"}), rapid.SampledFrom([]string{"1", "2"}))
	others := rapid.MapOf(rapid.SampledFrom([]string{"x", "y", "z"}), rapid.SampledFrom([]string{"1", "2"}))
	rapid.Check(t, func(t *rapid.T) {
		object := &metav1.ObjectMeta{}
		for range rapid.IntRange(1, 4).Draw(t, "times") {
			theirs := Set{Labels: others.Draw(t, "others' labels"), Annotations: others.Draw(t, "others' annotations")}
			for _, key := range []string{"x", "y", "z"} {
				delete(object.Labels, key)
				delete(object.Annotations, key)
			}
			if object.Labels == nil {
				object.Labels, object.Annotations = map[string]string{}, map[string]string{}
			}
			maps.Copy(object.Labels, theirs.Labels)
			maps.Copy(object.Annotations, theirs.Annotations)

			want := Set{Labels: exported.Draw(t, "labels"), Annotations: exported.Draw(t, "annotations")}
			shared, before := *object, object.DeepCopy()
			Apply(object, want)
			if diff := cmp.Diff(want, Of(object)); diff != "" {
				t.Fatalf("exported (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, &shared); diff != "" {
				t.Fatalf("the shared maps were changed:\n%s", diff)
			}
			if _, recorded := object.Annotations[names.AnnotationExported]; recorded != (len(want.Labels)+len(want.Annotations) > 0) {
				t.Fatalf("of %v there is a record: %t", want, recorded)
			}
			maps.Copy(theirs.Labels, want.Labels)
			maps.Copy(theirs.Annotations, want.Annotations)
			delete(object.Annotations, names.AnnotationExported)
			have := Set{Labels: object.Labels, Annotations: object.Annotations}
			if diff := cmp.Diff(theirs, have); diff != "" {
				t.Fatalf("all (-want +got):\n%s", diff)
			}
			Apply(object, want) // with the record again
			again := object.DeepCopy()
			if Apply(again, want); !cmp.Equal(object, again) {
				t.Fatalf("the same again changes %+v to %+v", object, again)
			}
		}
	})
}

func TestForService(t *testing.T) {
	set := map[string]string{
		"team": "a", "example.org/team": "a", "app.kubernetes.io/name": "web", "notkubernetes.io/a": "b",
		"service.kubernetes.io/service-proxy-name": "none", "kubernetes.io/x": "y", "K8s.io/x": "y", "gateway.networking.k8s.io/x": "y",
	}
	for allowed, want := range map[string]map[string]string{
		"":                                {},
		"*":                               {"team": "a", "example.org/team": "a", "app.kubernetes.io/name": "web", "notkubernetes.io/a": "b"},
		"team, example.org/*":             {"team": "a", "example.org/team": "a"},
		"org/*,example.org,example.org/t": {},
		"app.kubernetes.io/name,service.kubernetes.io/*": {"app.kubernetes.io/name": "web"},
	} {
		keys, err := ParseKeys(allowed)
		if err != nil {
			t.Fatal(err)
		}
		got := Set{Labels: set, Annotations: set}.ForService(keys)
		if !maps.Equal(got.Labels, want) || !maps.Equal(got.Annotations, want) || len(set) != 8 {
			t.Errorf("%s: left %v", allowed, got)
		}
	}
}

func TestParseKeys(t *testing.T) {
	for _, text := range []string{"a b", "a,b/c/d", "example.org/", "/x", "a_/b", "**"} {
		if keys, err := ParseKeys(text); err == nil {
			t.Errorf("%q: %q", text, keys)
		}
	}
}
