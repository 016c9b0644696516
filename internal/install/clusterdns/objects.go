package clusterdns

import (
	"context"
	"errors"
	"reflect"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Objects are a cluster's objects from files, readable like the cluster itself.
type Objects []*unstructured.Unstructured

// Get implements client.Reader.
func (all Objects) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	kind := into.GetObjectKind().GroupVersionKind().Kind
	if kind == "" {
		kind = reflect.TypeOf(into).Elem().Name() // a typed object
	}
	for _, o := range all {
		if o.GetKind() == kind && client.ObjectKeyFromObject(o) == key {
			if u, ok := into.(*unstructured.Unstructured); ok {
				o.DeepCopyInto(u)
				return nil
			}
			return runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into)
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{Resource: kind}, key.String())
}

// List implements client.Reader. No caller needs it.
func (Objects) List(context.Context, client.ObjectList, ...client.ListOption) error {
	return errors.New("listing objects in files is not supported")
}
