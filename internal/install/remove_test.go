package install

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

// A dry run keeps a CustomResourceDefinition only if the real run would: objects that earlier steps delete do not count.
func TestRemoveCRDsDryRun(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "example.org", Version: "v1", Kind: "Thing"}
	thing := func(name string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(kind)
		o.SetNamespace("shop")
		o.SetName(name)
		return o
	}
	crd := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{
		"group": kind.Group, "scope": "Namespaced", "names": map[string]any{"kind": "Thing", "listKind": "ThingList", "plural": "things"},
		"versions": []any{map[string]any{"name": "v1", "served": true}},
	}}}
	crd.SetAPIVersion("apiextensions.k8s.io/v1")
	crd.SetKind("CustomResourceDefinition")
	crd.SetName("things.example.org")
	crd.SetLabels(map[string]string{LabelManagedBy: ManagedBy})
	for name, tt := range map[string]struct {
		objects, deleted []string
		want             Change
	}{
		"no objects":                    {nil, nil, Deleted},
		"all are deleted before":        {[]string{"a", "b"}, []string{"a", "b"}, Deleted},
		"one is not":                    {[]string{"a", "b"}, []string{"a"}, Kept},
		"none is, and another is named": {[]string{"a"}, []string{"c"}, Kept},
	} {
		scheme := runtime.NewScheme()
		scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
		scheme.AddKnownTypeWithName(kind.GroupVersion().WithKind("ThingList"), &unstructured.UnstructuredList{})
		builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(crd.DeepCopy())
		for _, o := range tt.objects {
			builder = builder.WithObjects(thing(o))
		}
		var got Change
		target := &Target{Client: builder.Build(), DryRun: true, Report: func(change Change, o client.Object, _ string) {
			if o.GetName() == crd.GetName() {
				got = change
			}
		}}
		var planned []unstructured.Unstructured
		for _, o := range tt.deleted {
			planned = append(planned, *thing(o))
		}
		if err := target.DeleteAll(t.Context(), planned); err != nil {
			t.Fatal(err)
		}
		if err := target.RemoveCRDs(t.Context(), []*unstructured.Unstructured{crd}); err != nil || got != tt.want {
			t.Errorf("%s: %s, want %s, %v", name, got, tt.want, err)
		}
	}
}
