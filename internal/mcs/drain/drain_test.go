package drain

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestOf(t *testing.T) {
	now := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	in := func(d time.Duration) string { return now.Add(d).Format(time.RFC3339) }
	for name, tt := range map[string]struct {
		values []string // "-" for no annotation
		want   State
	}{
		"nothing":                      {[]string{"-", "-", "-"}, State{}},
		"without end":                  {[]string{"-", "true", "-"}, State{Drained: true}},
		"empty":                        {[]string{"", "-", "-"}, State{Drained: true}},
		"no time":                      {[]string{"tomorrow", "-", "-"}, State{Drained: true}},
		"false":                        {[]string{"false", "-", "-"}, State{}},
		"an end":                       {[]string{"-", "-", in(time.Hour)}, State{true, now.Add(time.Hour)}},
		"past its end":                 {[]string{in(-time.Second), "-", "-"}, State{}},
		"now":                          {[]string{in(0), "-", "-"}, State{}},
		"the last end counts":          {[]string{in(time.Minute), in(time.Hour), in(time.Second)}, State{true, now.Add(time.Hour)}},
		"one without end, one with":    {[]string{in(time.Minute), "true", "-"}, State{Drained: true}},
		"one that ended, one that not": {[]string{in(-time.Minute), in(time.Minute), "false"}, State{true, now.Add(time.Minute)}},
	} {
		var objects []metav1.Object
		for _, value := range tt.values {
			o := &metav1.ObjectMeta{}
			if value != "-" {
				o.Annotations = map[string]string{names.AnnotationDrained: value}
			}
			objects = append(objects, o)
		}
		if got := Of(now, objects...); got.Drained != tt.want.Drained || !got.Changes.Equal(tt.want.Changes) {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
}

// A digest changes with each thing that is drained, and a heartbeat that follows it says so of no other cluster or digest.
func TestDigest(t *testing.T) {
	web, db := types.NamespacedName{Namespace: "shop", Name: "web"}, types.NamespacedName{Namespace: "shop", Name: "db"}
	seen := map[string]string{}
	for name, digest := range map[string]string{
		"all":          Digest(true, nil),
		"all, and web": Digest(true, map[types.NamespacedName]int64{web: 1}),
		"web":          Digest(false, map[types.NamespacedName]int64{web: 1}),
		"web again":    Digest(false, map[types.NamespacedName]int64{web: 2}),
		"web and db":   Digest(false, map[types.NamespacedName]int64{web: 1, db: 1}),
	} {
		if digest == "" || seen[digest] != "" {
			t.Errorf("%s has the digest %q of %q", name, digest, seen[digest])
		}
		seen[digest] = name
		lease := &metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationFollowsDrains: FormatFollowed(map[names.ClusterID]string{"c1": digest, "c2": "other"})}}
		if !Follows(lease, "c1", digest) || Follows(lease, "c2", digest) || Follows(lease, "c1", "other") || Follows(lease, "1", digest) || Follows(&metav1.ObjectMeta{}, "c1", digest) {
			t.Errorf("%s: the heartbeat says %v", name, lease.Annotations)
		}
	}
	if Digest(false, nil) != "" {
		t.Error("nothing is drained, and has a digest")
	}
}
