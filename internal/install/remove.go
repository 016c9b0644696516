package install

import (
	"context"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// parallel is how many objects are deleted concurrently.
const parallel = 16

// DeleteAll deletes many objects without waiting until they are gone.
func (t *Target) DeleteAll(ctx context.Context, objects []unstructured.Unstructured) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i := range objects {
		o := &objects[i]
		if t.DryRun {
			t.plan(o)
			continue
		}
		t.Report(Deleted, o, "")
		group.Go(func() error {
			if err := client.IgnoreNotFound(t.Client.Delete(ctx, o)); err != nil {
				return fmt.Errorf("deleting %s: %w", Name(o), err)
			}
			return nil
		})
	}
	return group.Wait()
}

// objectKey identifies an object of any version.
type objectKey struct {
	schema.GroupKind
	client.ObjectKey
}

func keyOf(o *unstructured.Unstructured) objectKey {
	return objectKey{o.GroupVersionKind().GroupKind(), client.ObjectKeyFromObject(o)}
}

// plan reports an object that a dry run would delete.
func (t *Target) plan(o *unstructured.Unstructured) {
	if t.planned == nil {
		t.planned = map[objectKey]bool{}
	}
	t.planned[keyOf(o)] = true
	t.Report(Deleted, o, "")
}

// AwaitNone waits until no object of a kind matches the options.
func (t *Target) AwaitNone(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	if t.DryRun {
		return nil
	}
	return Wait(ctx, longPatience, func(ctx context.Context) error {
		if err := t.List(ctx, list, options...); err != nil {
			return err
		}
		if n := meta.LenList(list); n > 0 {
			return fmt.Errorf("waiting for the deletion of %T: %d objects still exist", list, n)
		}
		return nil
	})
}

// Disown removes the status fields that a field manager has applied.
func (t *Target) Disown(ctx context.Context, object *unstructured.Unstructured, owner string) error {
	owns := false
	for _, f := range object.GetManagedFields() {
		owns = owns || f.Manager == owner
	}
	if !owns || t.DryRun {
		return nil
	}
	nothing := &unstructured.Unstructured{}
	nothing.SetGroupVersionKind(object.GroupVersionKind())
	nothing.SetNamespace(object.GetNamespace())
	nothing.SetName(object.GetName())
	nothing.SetUID(object.GetUID())
	err := t.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(nothing), client.FieldOwner(owner), client.ForceOwnership)
	return client.IgnoreNotFound(err)
}

// RemoveCRDs deletes CustomResourceDefinitions that Atoll has created and that have no objects. Deleting others would
// delete users' objects.
func (t *Target) RemoveCRDs(ctx context.Context, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		have, err := t.read(ctx, crd)
		if err != nil {
			return fmt.Errorf("reading %s: %w", Name(crd), err)
		}
		switch {
		case have == nil:
			continue
		case have.GetLabels()[LabelManagedBy] != ManagedBy:
			t.Report(Kept, have, "Helm or another tool installed this CustomResourceDefinition. To delete it with all its objects: "+t.On.Kubectl("delete crd %s", have.GetName()))
			continue
		}
		definition, err := typed(have)
		if err != nil {
			return err
		}
		list := &unstructured.UnstructuredList{}
		limit := int64(1)
		if t.DryRun {
			limit = 0 // the first object may be one that an earlier step would delete
		}
		if err := t.listObjects(ctx, definition, list, limit); err != nil && !meta.IsNoMatchError(err) {
			return fmt.Errorf("listing the objects of %s: %w", Name(crd), err)
		}
		list.Items = slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool { return t.planned[keyOf(&o)] })
		if t.DryRun && len(list.Items) > 0 {
			t.Report(Kept, have, "this CustomResourceDefinition has objects. It is deleted only if all its objects are deleted first")
			continue
		}
		if len(list.Items) > 0 {
			t.Report(Kept, have, "this CustomResourceDefinition still has objects. To delete it with all its objects: "+t.On.Kubectl("delete crd %s", have.GetName()))
			continue
		}
		if err := t.Delete(ctx, crd); err != nil {
			return err
		}
	}
	return nil
}
