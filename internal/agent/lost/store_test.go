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

// The store reads lost clusters as written, without invalid cluster ids, and does not write an
// unchanged set again.
func TestStore(t *testing.T) {
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
	kept := store{c, c}
	if have, err := kept.read(t.Context()); len(have) > 0 || err != nil {
		t.Errorf("before there are any: %v, %v", have, err)
	}
	for i, step := range []struct {
		data   map[string]string
		writes int
	}{
		{map[string]string{"a": "1"}, 1},
		{map[string]string{"a": "1"}, 1},
		{map[string]string{"b": "2"}, 2},
		{map[string]string{"a note": "3", "c": "3"}, 3},
		{nil, 4},
		{map[string]string{}, 4},
	} {
		if err := kept.write(t.Context(), step.data); err != nil || writes != step.writes {
			t.Errorf("step %d: %d writes, %v", i, writes, err)
		}
		if have, err := kept.read(t.Context()); err != nil || have == nil || !maps.Equal(have, without(step.data, "a note")) {
			t.Errorf("step %d: %v, %v", i, have, err)
		}
	}
	made := &corev1.ConfigMap{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: names.SystemNamespace, Name: names.LostClusters}, made); err != nil || made.Labels[names.LabelManagedBy] != names.AgentManager {
		t.Errorf("%v, %v", made.Labels, err)
	}
}

func without(data map[string]string, key string) map[string]string {
	data = maps.Clone(data)
	delete(data, key)
	return data
}
