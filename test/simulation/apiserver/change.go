package apiserver

import (
	"encoding/json"
	"errors"
	"mime"
	"reflect"
	"slices"

	jsonpatch "github.com/evanphx/json-patch/v5"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

var errOutdated = errors.New("the object has been modified; please apply your changes to the latest version and try again")

// only restricts a request to the fields that it may change: a request to the main resource
// keeps the old status, and a request to the status subresource changes nothing but the status.
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

// setStatus copies the status of another object.
func setStatus(of, like Object) {
	reflect.ValueOf(of).Elem().FieldByName("Status").Set(reflect.ValueOf(like).Elem().FieldByName("Status"))
}

// sameButMetadata reports whether two versions of an object have the same generation.
func sameButMetadata(a, b Object) bool {
	a, b = a.DeepCopyObject().(Object), b.DeepCopyObject().(Object)
	for _, o := range []Object{a, b} {
		*metadataOf(o) = metav1.ObjectMeta{}
	}
	return equality.Semantic.DeepEqual(a, b)
}

// patched applies a patch to an object.
//
// manager is the field manager. It owns the conditions that it has applied.
func (s *store) patched(k *kind, have Object, contentType, manager string, body []byte) (Object, error) {
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
		changed, err = s.apply(k, have, current, manager, body)
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

// apply implements the part of server-side apply that agents and hubs use: status conditions,
// merged by type, on an object with a given UID. Conditions that the manager no longer applies
// are removed.
func (s *store) apply(k *kind, have Object, current []byte, manager string, body []byte) ([]byte, error) {
	patch, err := yaml.YAMLToJSON(body)
	if err != nil {
		return nil, badRequest("decoding the patch: %v", err)
	}
	var means struct {
		Metadata struct {
			UID             types.UID
			ResourceVersion string
		}
		Status struct{ Conditions []metav1.Condition }
	}
	if err := json.Unmarshal(patch, &means); err != nil {
		return nil, badRequest("decoding the patch: %v", err)
	}
	uid, version := means.Metadata.UID, means.Metadata.ResourceVersion
	if uid != "" && uid != have.GetUID() || version != "" && version != have.GetResourceVersion() {
		return nil, apierrors.NewConflict(k.groupResource(), have.GetName(), errOutdated)
	}
	var now []string
	for _, c := range means.Status.Conditions {
		now = append(now, c.Type)
	}
	owner := fieldOwner{have.GetUID(), manager}
	var deleted []any
	for _, before := range s.applied[owner] {
		if !slices.Contains(now, before) {
			deleted = append(deleted, map[string]any{"type": before, "$patch": "delete"})
		}
	}
	s.applied[owner] = now
	if len(deleted) > 0 {
		removal, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": deleted}})
		if err != nil {
			return nil, err
		}
		if current, err = strategicpatch.StrategicMergePatch(current, removal, k.new()); err != nil {
			return nil, err
		}
	}
	return strategicpatch.StrategicMergePatch(current, patch, k.new())
}
