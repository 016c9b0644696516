package clusterset

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/tools/cache"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// store receives the API objects of one kind from a reflector, as reduced objects of type T. The reflector transforms
// objects one by one, so full-size objects are never all in memory.
type store[T any] struct {
	convert func(obj any) (T, error)
	set     func(T)
	drop    func(T)
	replace func([]T)
}

var _ cache.TransformingStore = store[*serviceImport]{}

func importStore(o *objects) store[*serviceImport] {
	return store[*serviceImport]{toImport, o.setImport, o.dropImport, o.replaceImports}
}

func sliceStore(o *objects) store[*endpointSlice] {
	return store[*endpointSlice]{toSlice, o.setSlice, o.dropSlice, o.replaceSlices}
}

// Transformer implements cache.TransformingStore.
func (s store[T]) Transformer() cache.TransformFunc {
	return func(obj any) (any, error) { return s.convert(obj) }
}

// Add implements cache.ReflectorStore.
func (s store[T]) Add(obj any) error { return s.Update(obj) }

// Update implements cache.ReflectorStore.
func (s store[T]) Update(obj any) error {
	o, err := s.convert(obj)
	if err != nil {
		return err
	}
	s.set(o)
	return nil
}

// Delete implements cache.ReflectorStore.
func (s store[T]) Delete(obj any) error {
	o, err := s.convert(obj)
	if err != nil {
		return err
	}
	s.drop(o)
	return nil
}

// Replace implements cache.ReflectorStore.
func (s store[T]) Replace(list []any, _ string) error {
	all := make([]T, 0, len(list))
	for _, obj := range list {
		o, err := s.convert(obj)
		if err != nil {
			return err
		}
		all = append(all, o)
	}
	s.replace(all)
	return nil
}

// Resync implements cache.ReflectorStore. No periodic work is needed.
func (s store[T]) Resync() error { return nil }

// toImport converts an object from the reflector. Streamed lists are already transformed; others are raw.
func toImport(obj any) (*serviceImport, error) {
	switch obj := obj.(type) {
	case *serviceImport:
		return obj, nil
	case *mcsv1beta1.ServiceImport:
		return newServiceImport(obj), nil
	default:
		return nil, fmt.Errorf("reading ServiceImport: unexpected type %T", obj)
	}
}

// toSlice does the same for EndpointSlices.
func toSlice(obj any) (*endpointSlice, error) {
	switch obj := obj.(type) {
	case *endpointSlice:
		return obj, nil
	case *discoveryv1.EndpointSlice:
		return newEndpointSlice(obj), nil
	default:
		return nil, fmt.Errorf("reading EndpointSlice: unexpected type %T", obj)
	}
}
