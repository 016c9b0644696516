package floor

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
)

// Copy is a plain program that repeats writes on copies of the same objects: writes of an
// object in order, 16 objects at a time. It waits for nothing.
type Copy struct{ objects []*copied }

// copied is the copy of an object, with its writes.
type copied struct {
	admin  client.Client
	object *unstructured.Unstructured
	writes []audit.Write
}

// NewCopy copies the objects of the writes, which must still exist, to a namespace. It skips
// objects without a namespace and objects that are deleted.
func NewCopy(ctx context.Context, admins map[string]client.WithWatch, writes map[string][]audit.Write, namespace string) (*Copy, error) {
	c := &Copy{}
	for cluster, all := range writes {
		admin := admins[cluster]
		byObject := map[string]*copied{}
		for _, w := range all {
			key := w.Resource + "/" + w.Namespace + "/" + w.Name
			o := byObject[key]
			if o == nil {
				o = &copied{admin: admin}
				var err error
				if o.object, err = read(ctx, admin, w, namespace); err != nil {
					return nil, err
				}
				byObject[key] = o
				if o.object != nil {
					c.objects = append(c.objects, o)
				}
			}
			if w.Succeeded() {
				o.writes = append(o.writes, w)
			}
		}
	}
	return c, nil
}

// read returns a copy of a written object for creation in a namespace, or nil if the object
// cannot be copied.
func read(ctx context.Context, admin client.Client, w audit.Write, namespace string) (*unstructured.Unstructured, error) {
	if w.Namespace == "" || w.Name == "" {
		return nil, nil
	}
	kind, err := admin.RESTMapper().KindFor(schema.GroupVersionResource{Resource: w.Resource})
	if err != nil {
		return nil, fmt.Errorf("copying %s: %w", w, err)
	}
	from := &unstructured.Unstructured{}
	from.SetGroupVersionKind(kind)
	if err := admin.Get(ctx, client.ObjectKey{Namespace: w.Namespace, Name: w.Name}, from); apierrors.IsNotFound(err) {
		return nil, nil
	} else if err != nil {
		return nil, fmt.Errorf("copying %s: %w", w, err)
	}
	to := from.DeepCopy()
	to.Object["metadata"] = map[string]any{}
	to.SetNamespace(namespace)
	to.SetName(from.GetName())
	to.SetLabels(from.GetLabels())
	to.SetAnnotations(from.GetAnnotations())
	if kind.Kind == "Service" { // the address is the original's
		unstructured.RemoveNestedField(to.Object, "spec", "clusterIP")
		unstructured.RemoveNestedField(to.Object, "spec", "clusterIPs")
	}
	if kind.Kind == "Event" {
		return to, unstructured.SetNestedField(to.Object, namespace, "involvedObject", "namespace")
	}
	return to, nil
}

// Write makes the writes.
func (c *Copy) Write(ctx context.Context) error {
	return bed.Each(ctx, c.objects, func(ctx context.Context, o *copied) error {
		for i, w := range o.writes {
			var err error
			switch {
			case w.Verb == "delete":
				err = o.admin.Delete(ctx, o.object)
			case i == 0: // an object whose first write is an update existed before, so its copy must be created
				err = o.admin.Create(ctx, o.object)
			case w.Subresource == "status":
				err = o.admin.Status().Update(ctx, o.object)
			default:
				// An update that changes nothing would cost less.
				o.object.SetAnnotations(map[string]string{"bench": fmt.Sprint(i)})
				err = o.admin.Update(ctx, o.object)
			}
			if err != nil {
				return fmt.Errorf("copying %s: %w", w, err)
			}
		}
		return nil
	})
}

// Clear deletes the copies.
func (c *Copy) Clear(ctx context.Context) error {
	var failed error
	for _, o := range c.objects {
		failed = errors.Join(failed, client.IgnoreNotFound(o.admin.Delete(ctx, o.object)))
	}
	return failed
}
