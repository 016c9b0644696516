package objects

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
)

// Indexed is a fake client builder that accepts the indexes of caches.
type Indexed struct{ *fake.ClientBuilder }

// IndexField implements client.FieldIndexer.
func (b Indexed) IndexField(_ context.Context, o client.Object, field string, keys client.IndexerFunc) error {
	b.WithIndex(o, field, keys)
	return nil
}

// Untargeted returns a builder of clients that find no TrafficPolicy for any target.
func Untargeted(scheme *runtime.Scheme) *fake.ClientBuilder {
	return fake.NewClientBuilder().WithScheme(scheme).WithIndex(&trafficv1alpha1.TrafficPolicy{}, "target", func(client.Object) []string { return nil })
}
