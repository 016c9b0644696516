package layout

import (
	"maps"
	"strconv"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// A revision is higher than the previous one and not lower than the resource versions of its
// sources. It never depends on a clock.
func TestRevisionGrows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		last := rapid.Int64Range(0, 1<<40).Draw(t, "last")
		var madeOf []metav1.Object
		newest := last + 1
		for _, version := range rapid.SliceOf(rapid.Int64Range(1, 1<<40)).Draw(t, "versions") {
			madeOf = append(madeOf, &metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(version, 10)})
			newest = max(newest, version)
		}
		madeOf = append(madeOf, &metav1.ObjectMeta{ResourceVersion: "not a number"})
		shared := map[string]string{"a": "b"}
		object := &metav1.ObjectMeta{Annotations: shared}
		SetRevision(object, last, madeOf...)
		if got := Revision(object); got != newest {
			t.Errorf("revision %d, want %d", got, newest)
		}
		if len(shared) != 1 || object.Annotations["a"] != "b" {
			t.Errorf("the annotations became %v, and the shared map %v", object.Annotations, shared)
		}
	})
}

func TestWithdrawn(t *testing.T) {
	shared := map[string]string{"a": "b"}
	object := &metav1.ObjectMeta{Annotations: shared}
	for _, withdrawn := range []bool{true, true, false, false} {
		if SetWithdrawn(object, withdrawn); Withdrawn(object) != withdrawn || object.Annotations["a"] != "b" {
			t.Errorf("withdrawn %t: %v", withdrawn, object.Annotations)
		}
	}
	if len(shared) != 1 {
		t.Errorf("an object in a cache was changed: %v", shared)
	}
}

// Members write the counter of their Leases. An invalid counter counts as 0, which confirms
// nothing.
func TestCounter(t *testing.T) {
	for text, want := range map[string]int64{
		"": 0, "7": 7, "9223372036854775807": 1<<63 - 1, "-1": 0, "9223372036854775808": 0, "-9223372036854775809": 0, "7 ": 0, "0x7": 0, "many": 0,
	} {
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{UID: "1", Annotations: map[string]string{names.AnnotationCompared: text}}}
		if got := Counter(lease); got != (belief.Counter{Lease: "1", Count: want}) {
			t.Errorf("%q: %+v", text, got)
		}
	}
	lease := &coordinationv1.Lease{}
	for _, refused := range []bool{true, false} {
		if SetCount(lease, 3, refused); Counter(lease) != (belief.Counter{Count: 3, Refused: refused}) {
			t.Errorf("after SetCount(3, %t) the counter is %+v", refused, Counter(lease))
		}
	}
}

// A Lease is a heartbeat only of the cluster that its name and its label name.
func TestLeaseOwner(t *testing.T) {
	lease := func(name, label string) coordinationv1.Lease {
		return coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{names.LabelSourceCluster: label}, Annotations: map[string]string{names.AnnotationCompared: "7"}}}
	}
	got := Counters([]coordinationv1.Lease{
		lease("c1", "c1"), lease("eu.c2", "eu.c2"), lease(names.HubOwner.String(), ""),
		lease("c3", "c1"), lease("c4", ""), lease("a.b.c.d", "a.b.c.d"), lease("x_y", "x_y"),
	})
	want := map[names.ClusterID]belief.Counter{"c1": {Count: 7}, "eu.c2": {Count: 7}, names.HubOwner: {Count: 7}}
	if !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
