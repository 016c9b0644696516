package install

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	yamlstream "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"
)

// Parse returns the objects of YAML streams, in order.
func Parse(manifests ...[]byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	for _, manifest := range manifests {
		for d := yamlstream.NewYAMLOrJSONDecoder(bytes.NewReader(manifest), 4096); ; {
			o := &unstructured.Unstructured{}
			err := d.Decode(&o.Object)
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				return nil, fmt.Errorf("reading YAML: %w", err)
			}
			if len(o.Object) > 0 {
				objects = append(objects, o)
			}
		}
	}
	return objects, nil
}

// MustParse is Parse for embedded manifests.
func MustParse(manifests ...[]byte) []*unstructured.Unstructured {
	objects, err := Parse(manifests...)
	if err != nil {
		panic(err) // any test would fail
	}
	return objects
}

// Marked returns the object as it is applied: with LabelManagedBy.
func Marked(object *unstructured.Unstructured) *unstructured.Unstructured {
	object = object.DeepCopy()
	labels := object.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[LabelManagedBy] = ManagedBy
	object.SetLabels(labels)
	return object
}

// Print writes objects as they would be applied, as a YAML stream without the contents of Secrets.
func Print(w io.Writer, objects ...*unstructured.Unstructured) error {
	shown := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		if o.GetKind() == "Secret" {
			o = redacted(o)
		}
		shown = append(shown, Marked(o))
	}
	return Write(w, shown...)
}

// Write writes unmodified objects as a YAML stream, including Secrets.
func Write(w io.Writer, objects ...*unstructured.Unstructured) error {
	for _, o := range objects {
		document, err := yaml.Marshal(o.Object)
		if err != nil {
			return fmt.Errorf("writing %s: %w", Name(o), err)
		}
		if _, err := fmt.Fprintf(w, "---\n%s", document); err != nil {
			return err
		}
	}
	return nil
}

// redacted returns a Secret without its values.
func redacted(secret *unstructured.Unstructured) *unstructured.Unstructured {
	secret = secret.DeepCopy()
	data, _, _ := unstructured.NestedMap(secret.Object, "data")
	for key := range data {
		data[key] = "" // valid as base64
	}
	_ = unstructured.SetNestedMap(secret.Object, data, "data") // a map of strings cannot fail
	return secret
}
