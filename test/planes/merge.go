package planes

import (
	"context"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Merge applies a JSON merge patch (RFC 7396) by a full update, because members have no
// permission for the verb patch. Like the API server's patch, Merge retries when another writer
// changed the object.
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
