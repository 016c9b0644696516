package planes

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge changes an object by a JSON merge patch (RFC 7396) and writes all of it, because members may not use the verb patch. As the API server does for
// that verb, it reads the object anew if someone else wrote it meanwhile.
func Merge(ctx context.Context, c client.Client, object client.Object, patch string) error {
	var changes map[string]any
	if err := json.Unmarshal([]byte(patch), &changes); err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have := object.DeepCopyObject().(client.Object)
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), have); err != nil {
			return err
		}
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
		if err != nil {
			return err
		}
		mergePatch(content, changes)
		return c.Update(ctx, &unstructured.Unstructured{Object: typed(content, have, c)})
	})
}

// typed gives the content of an object its kind, which clients leave out.
func typed(content map[string]any, of client.Object, c client.Client) map[string]any {
	if kind, err := c.GroupVersionKindFor(of); err == nil {
		content["apiVersion"], content["kind"] = kind.GroupVersion().String(), kind.Kind
	}
	return content
}

func mergePatch(into, changes map[string]any) {
	for key, value := range changes {
		inner, isMap := value.(map[string]any)
		existing, wasMap := into[key].(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isMap && wasMap:
			mergePatch(existing, inner)
		default:
			into[key] = value
		}
	}
}
