package apiserver

import (
	"encoding/json"
	"errors"
	"maps"
	"mime"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

var errOutdated = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// only returns want where a request may change everything of an object but its status, and
// have with want's status where it may change only that.
func only(t target, have, want Object) (Object, error) {
	switch {
	case !t.kind.status:
		return want, nil
	case t.subresource == "":
		return want, keepStatus(t.kind, have, want)
	case t.subresource == "status":
		changed := have.DeepCopyObject().(Object)
		return changed, keepStatus(t.kind, want, changed)
	default:
		return nil, badRequest("there is no subresource %s", t.subresource)
	}
}

// keepStatus gives to the status of from.
func keepStatus(k *kind, from, to Object) error {
	source, err := runtime.DefaultUnstructuredConverter.ToUnstructured(from)
	if err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(to)
	if err != nil {
		return err
	}
	if status, ok := source["status"]; ok {
		fields["status"] = status
	} else {
		delete(fields, "status")
	}
	return set(k, fields, to)
}

// set makes into what fields say.
func set(k *kind, fields map[string]any, into Object) error {
	fresh := k.new()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, fresh); err != nil {
		return badRequest("%v", err)
	}
	assign(into, fresh)
	into.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
	return nil
}

// sameButMetadata tells whether two versions of an object differ in nothing that its
// generation counts.
func sameButMetadata(a, b Object) bool {
	a, b = a.DeepCopyObject().(Object), b.DeepCopyObject().(Object)
	for _, o := range []Object{a, b} {
		*metadataOf(o) = metav1.ObjectMeta{}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// patched returns what a patch makes of an object.
func patched(k *kind, have Object, contentType string, body []byte) (Object, error) {
	mediaType, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, badRequest("Content-Type: %v", err)
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(have)
	if err != nil {
		return nil, err
	}
	var patch map[string]any
	switch types.PatchType(mediaType) {
	case types.MergePatchType:
		if err := json.Unmarshal(body, &patch); err != nil {
			return nil, badRequest("decoding the patch: %v", err)
		}
		fields = merged(fields, patch)
	case types.ApplyYAMLPatchType:
		if err := yaml.Unmarshal(body, &patch); err != nil {
			return nil, badRequest("decoding the patch: %v", err)
		}
		if err := apply(k, have, fields, patch); err != nil {
			return nil, err
		}
	default:
		return nil, badRequest("patches of type %s are not supported", mediaType)
	}
	fresh := k.new()
	return fresh, set(k, fields, fresh)
}

// merged is RFC 7386.
func merged(into, patch map[string]any) map[string]any {
	into = maps.Clone(into)
	if into == nil {
		into = map[string]any{}
	}
	for key, value := range patch {
		fields, isObject := value.(map[string]any)
		switch {
		case value == nil:
			delete(into, key)
		case isObject:
			have, _ := into[key].(map[string]any)
			into[key] = merged(have, fields)
		default:
			into[key] = value
		}
	}
	return into
}

// apply does server-side apply as far as agents use it: conditions, merged by their type,
// into the status of the very object that they mean.
func apply(k *kind, have Object, fields, patch map[string]any) error {
	metadata, _ := patch["metadata"].(map[string]any)
	if uid, ok := metadata["uid"].(string); ok && uid != string(have.GetUID()) {
		return apierrors.NewConflict(k.groupResource(), have.GetName(), errOutdated)
	}
	status, _ := patch["status"].(map[string]any)
	applied, ok := status["conditions"].([]any)
	if !ok || len(status) != 1 {
		return badRequest("only conditions can be applied")
	}
	current, _ := fields["status"].(map[string]any)
	conditions, _ := current["conditions"].([]any)
	for _, condition := range applied {
		conditions = withCondition(conditions, condition.(map[string]any))
	}
	fields["status"] = merged(current, map[string]any{"conditions": conditions})
	return nil
}

func withCondition(conditions []any, want map[string]any) []any {
	result := make([]any, 0, len(conditions)+1)
	found := false
	for _, c := range conditions {
		if c.(map[string]any)["type"] == want["type"] {
			c, found = any(merged(c.(map[string]any), want)), true
		}
		result = append(result, c)
	}
	if !found {
		result = append(result, want)
	}
	return result
}
