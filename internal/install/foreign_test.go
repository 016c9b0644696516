package install

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// object is one with fields of the given schemas.
func object(fields map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: fields}
}

func list(of apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
}

// Fields are missing by their paths, within lists too, and not where unknown ones are kept.
func TestMissing(t *testing.T) {
	type fields = map[string]apiextensionsv1.JSONSchemaProps
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	crd := func(spec, status apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
		d := definition("", "v1")
		whole := object(fields{"spec": spec, "status": status})
		d.Spec.Versions[0].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &whole}
		return d
	}
	keepsAll := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	a := crd(object(fields{"ports": list(object(fields{"name": text, "port": text})), "range": object(fields{"names": list(text)})}), object(fields{"ip": text}))
	b := crd(object(fields{"ports": list(object(fields{"port": text})), "others": text}), keepsAll)
	for name, tt := range map[string]struct {
		a, b *apiextensionsv1.CustomResourceDefinition
		want []string
	}{
		"the same":            {a, a, nil},
		"of the first":        {a, b, []string{"spec.ports[].name", "spec.range"}},
		"of the second":       {b, a, []string{"spec.others"}},
		"a version":           {a, definition("", "v2"), []string{"version v1"}},
		"one that is no more": {definition(""), a, nil},
	} {
		if got := missing(tt.a, tt.b); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// A list that several write is lacking where it is written as a whole, or where nothing is said of it; one that is not there at
// all is missing by its own path.
func TestListsOfSeveralWriters(t *testing.T) {
	type fields = map[string]apiextensionsv1.JSONSchemaProps
	crd := func(status apiextensionsv1.JSONSchemaProps) *apiextensionsv1.CustomResourceDefinition {
		d := definition("", "v1")
		whole := object(fields{"status": status})
		d.Spec.Versions[0].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &whole}
		return d
	}
	whole := list(object(fields{"type": {Type: "string"}}))
	keyed := *whole.DeepCopy()
	keyed.XListType, keyed.XListMapKeys = ptr.To("map"), []string{"type"}
	want := crd(object(fields{"conditions": keyed}))
	for name, tt := range map[string]struct {
		have *apiextensionsv1.CustomResourceDefinition
		want []string
	}{
		"the same":             {want, nil},
		"a whole":              {crd(object(fields{"conditions": whole})), []string{"status.conditions[] by type"}},
		"whatever anybody has": {crd(apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}), []string{"status.conditions[] by type"}},
		"none":                 {crd(object(nil)), []string{"status.conditions"}},
	} {
		if got := lacking(want, tt.have); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
