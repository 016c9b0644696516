package planes

import (
	"context"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge changes an object by a JSON merge patch (RFC 7396) and writes all of it, because members may not use the verb patch. As the API server does for
// that verb, it reads the object anew if someone else wrote it meanwhile.
func Merge(ctx context.Context, c client.Client, object client.Object, patch string) error {
	kind, err := c.GroupVersionKindFor(object)
	if err != nil {
		return err
	}
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		have := &unstructured.Unstructured{}
		have.SetGroupVersionKind(kind)
		if err := c.Get(ctx, client.ObjectKeyFromObject(object), have); err != nil {
			return err
		}
		current, err := have.MarshalJSON()
		if err != nil {
			return err
		}
		changed, err := jsonpatch.MergePatch(current, []byte(patch))
		if err != nil {
			return err
		}
		if err := have.UnmarshalJSON(changed); err != nil {
			return err
		}
		return c.Update(ctx, have)
	})
}
