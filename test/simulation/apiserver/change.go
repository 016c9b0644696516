package apiserver

import (
	"encoding/json"
	"errors"
	"mime"
	"reflect"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
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
		setStatus(want, have)
		return want, nil
	case t.subresource == "status":
		changed := have.DeepCopyObject().(Object)
		setStatus(changed, want)
		return changed, nil
	default:
		return nil, badRequest("there is no subresource %s", t.subresource)
	}
}

// setStatus has an object have another one's status.
func setStatus(of, like Object) {
	reflect.ValueOf(of).Elem().FieldByName("Status").Set(reflect.ValueOf(like).Elem().FieldByName("Status"))
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
	current, err := json.Marshal(have)
	if err != nil {
		return nil, err
	}
	var changed []byte
	switch types.PatchType(mediaType) {
	case types.MergePatchType:
		changed, err = jsonpatch.MergePatch(current, body)
	case types.ApplyYAMLPatchType:
		changed, err = applied(k, have, current, body)
	default:
		return nil, badRequest("patches of type %s are not supported", mediaType)
	}
	if err != nil {
		return nil, err
	}
	fresh := k.new()
	if err := json.Unmarshal(changed, fresh); err != nil {
		return nil, badRequest("%v", err)
	}
	return fresh, nil
}

// applied does server-side apply as far as agents use it: conditions, merged by their type,
// into the status of the very object that they mean.
func applied(k *kind, have Object, current, body []byte) ([]byte, error) {
	patch, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, badRequest("decoding the patch: %v", err)
	}
	var means struct {
		Metadata struct{ UID types.UID }
		Status   map[string]any
	}
	if err := json.Unmarshal(patch, &means); err != nil {
		return nil, badRequest("decoding the patch: %v", err)
	}
	if uid := means.Metadata.UID; uid != "" && uid != have.GetUID() {
		return nil, apierrors.NewConflict(k.groupResource(), have.GetName(), errOutdated)
	}
	if means.Status["conditions"] == nil || len(means.Status) != 1 {
		return nil, badRequest("only conditions can be applied")
	}
	return strategicpatch.StrategicMergePatch(current, patch, k.new())
}
