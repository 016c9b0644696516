package install

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Rights checks that the user may do verbs on objects, whose kinds need not be served yet. The error lists all missing
// permissions.
func (t *Target) Rights(ctx context.Context, verbs []string, objects ...*unstructured.Unstructured) error {
	type right struct{ verb, group, resource, namespace string }
	missing := map[string]bool{}
	seen := map[right]bool{}
	for _, o := range objects {
		for _, verb := range verbs {
			r := right{verb, o.GroupVersionKind().Group, resource(o), o.GetNamespace()}
			if seen[r] {
				continue
			}
			seen[r] = true
			review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: r.verb, Group: r.group, Resource: r.resource, Namespace: r.namespace},
			}}
			if err := t.Create(ctx, review); err != nil {
				return fmt.Errorf("checking the permissions of this context's user: %w", err)
			}
			if !review.Status.Allowed {
				missing[r.resource] = true
			}
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the user of this context lacks the permission to %s: %s\nUse a context with the permissions of a cluster administrator: --context NAME",
			strings.Join(verbs, " and "), strings.Join(slices.Sorted(maps.Keys(missing)), ", "))
	}
	return nil
}

// resource returns the API resource of a kind.
func resource(o *unstructured.Unstructured) string {
	plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
	return plural.Resource
}
