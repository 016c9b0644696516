package memory

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// What may not be read just now is not forgotten, for an API server may refuse for a moment what it allows; what may not be
// read at all is nothing.
func TestLoad(t *testing.T) {
	there := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: names.BrokerMemory}, Data: map[string]string{keyPlace: "uid"},
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, names.BrokerMemory, errors.New("no"))
	for name, tt := range map[string]struct {
		refused int // times
		place   string
	}{"it may be read": {0, "uid"}, "not just now": {3, "uid"}, "not at all": {1000, ""}} {
		synctest.Test(t, func(t *testing.T) {
			refused := tt.refused
			reader := fake.NewClientBuilder().WithObjects(there.DeepCopy()).WithInterceptorFuncs(interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if refused--; refused >= 0 {
						return forbidden
					}
					return c.Get(ctx, key, o, opts...)
				},
			}).Build()
			if m, err := Load(t.Context(), reader, ""); err != nil || m.Epoch.Place != tt.place {
				t.Errorf("%s: read %+v, %v", name, m, err)
			}
		})
	}
}
