package compare

import (
	"errors"
	"strconv"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// record returns c1's record with a resource version and a revision; 0 means without one.
func record(resource string, revision int) *brokerv1alpha1.ExportedService {
	r := objects.Record("c1", "shop", "web")
	r.ResourceVersion = resource
	if r.Annotations = map[string]string{}; revision > 0 {
		r.Annotations[names.AnnotationRevision] = strconv.Itoa(revision)
	}
	return r
}

type counter int

func (c *counter) Inc() { *c++ }

func TestWrites(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "", nil)
	for name, tt := range map[string]struct {
		then func(*Writes) // after version 5 with revision 7 was found right
		want int
	}{
		"this cluster's Service has changed": {func(w *Writes) { w.Observe(record("5", 7), false) }, 0},
		"another writer":                     {func(w *Writes) { w.Observe(record("6", 8), false) }, 1},
		"another writer, the same revision":  {func(w *Writes) { w.Observe(record("6", 7), false) }, 1},
		"another writer, no revision":        {func(w *Writes) { w.Observe(record("6", 0), false) }, 1},
		"the same content":                   {func(w *Writes) { w.Observe(record("6", 8), true); w.Observe(record("6", 8), false) }, 0},
		"a restored broker":                  {func(w *Writes) { w.Observe(record("2", 3), false) }, 0},
		"each version once":                  {func(w *Writes) { w.Observe(record("6", 8), false); w.Observe(record("6", 8), false) }, 1},
		"this agent's write":                 {func(w *Writes) { w.Wrote(record("6", 8), false, nil); w.Observe(record("6", 8), false) }, 0},
		"an outdated cache":                  {func(w *Writes) { w.Wrote(record("6", 8), false, nil); w.Observe(record("5", 7), false) }, 0},
		"an outdated cache with right content": {func(w *Writes) {
			w.Wrote(record("8", 9), false, nil)
			w.Observe(record("5", 7), true)
			w.Observe(record("6", 8), false)
		}, 0},
		"after a conflict":                 {func(w *Writes) { w.Wrote(record("5", 8), false, conflict); w.Observe(record("6", 8), false) }, 1},
		"a lost response":                  {func(w *Writes) { w.Wrote(record("5", 8), false, errors.New("reset")); w.Observe(record("6", 8), false) }, 0},
		"created again after its deletion": {func(w *Writes) { w.Wrote(record("5", 7), true, nil); w.Observe(record("6", 8), false) }, 0},
		"a writer that answers each of the writes": {func(w *Writes) {
			w.Observe(record("6", 8), false)
			w.Wrote(record("7", 9), false, nil)
			w.Observe(record("8", 9), false)
		}, 2},
	} {
		count := counter(0)
		w := NewWrites(&count)
		w.Observe(record("4", 6), false) // left by the previous leader
		w.Observe(record("5", 7), true)
		tt.then(w)
		if got := int(count); got != tt.want {
			t.Errorf("%s: %v writes of others, want %v", name, got, tt.want)
		}
		if names := w.takeForeign(); len(names) != min(1, tt.want) || len(w.takeForeign()) != 0 {
			t.Errorf("%s: reported %v", name, names)
		}
	}
}
