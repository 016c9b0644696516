package objects

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// Indexed is a fake client builder that accepts the indexes of caches.
type Indexed struct{ *fake.ClientBuilder }

// IndexField implements client.FieldIndexer.
func (b Indexed) IndexField(_ context.Context, o client.Object, field string, keys client.IndexerFunc) error {
	b.WithIndex(o, field, keys)
	return nil
}
