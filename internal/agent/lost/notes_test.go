package lost

import (
	"context"
	"maps"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Notes are read as they were written, and what they say already is not written again.
func TestNotes(t *testing.T) {
	writes := 0
	c := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			writes++
			return c.Create(ctx, o, opts...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			writes++
			return c.Update(ctx, o, opts...)
		},
	}).Build()
	notes := Notes{Name: "notes", Reader: c, Writer: c}
	if have, err := notes.Read(t.Context()); have != nil || err != nil {
		t.Errorf("before there are any: %v, %v", have, err)
	}
	for i, step := range []struct {
		data   map[string]string
		writes int
	}{
		{map[string]string{"a": "1"}, 1},
		{map[string]string{"a": "1"}, 1},
		{map[string]string{"b": "2"}, 2},
		{nil, 3},
		{map[string]string{}, 3},
	} {
		if err := notes.Write(t.Context(), step.data); err != nil || writes != step.writes {
			t.Errorf("step %d: %d writes, %v", i, writes, err)
		}
		if have, err := notes.Read(t.Context()); err != nil || have == nil || !maps.Equal(have, step.data) {
			t.Errorf("step %d: %v, %v", i, have, err)
		}
	}
	made := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: names.SystemNamespace, Name: "notes"}, made); err != nil || made.Labels[names.LabelManagedBy] != names.AgentManager {
		t.Errorf("%v, %v", made.Labels, err)
	}
}
