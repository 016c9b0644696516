package clusterdns

import (
	"context"
	"reflect"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
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

// List implements client.Reader for typed lists, with the options namespace and labels.
func (all Objects) List(_ context.Context, into client.ObjectList, options ...client.ListOption) error {
	var by client.ListOptions
	by.ApplyOptions(options)
	kind := strings.TrimSuffix(reflect.TypeOf(into).Elem().Name(), "List")
	items := []any{}
	for _, o := range all {
		selected := by.LabelSelector == nil || by.LabelSelector.Matches(labels.Set(o.GetLabels()))
		if o.GetKind() == kind && selected && (by.Namespace == "" || o.GetNamespace() == by.Namespace) {
			items = append(items, o.Object)
		}
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"items": items}, into)
}
