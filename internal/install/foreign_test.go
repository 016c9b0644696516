package install

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

type fields = map[string]apiextensionsv1.JSONSchemaProps

// object is one with fields of the given schemas.
func object(of fields) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: of}
}

// defined is a definition of objects with these fields.
func defined(of fields) *apiextensionsv1.CustomResourceDefinition {
	d, whole := definition("", "v1"), object(of)
	d.Spec.Versions[0].Schema = &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &whole}
	return d
}

func list(of apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
	return apiextensionsv1.JSONSchemaProps{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
}

// Fields are missing by their paths, within lists too, and not where unknown ones are kept.
func TestMissing(t *testing.T) {
	text := apiextensionsv1.JSONSchemaProps{Type: "string"}
	keepsAll := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	a := defined(fields{
		"spec":   object(fields{"ports": list(object(fields{"name": text, "port": text})), "range": object(fields{"names": list(text)})}),
		"status": object(fields{"ip": text}),
	})
	b := defined(fields{"spec": object(fields{"ports": list(object(fields{"port": text})), "others": text}), "status": keepsAll})
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
	whole := list(object(fields{"type": {Type: "string"}}))
	keyed := *whole.DeepCopy()
	keyed.XListType, keyed.XListMapKeys = ptr.To("map"), []string{"type"}
	want := defined(fields{"status": object(fields{"conditions": keyed})})
	for name, tt := range map[string]struct {
		have *apiextensionsv1.CustomResourceDefinition
		want []string
	}{
		"the same":             {want, nil},
		"a whole":              {defined(fields{"status": object(fields{"conditions": whole})}), []string{"status.conditions[] by type"}},
		"whatever anybody has": {defined(fields{"status": {Type: "object", XPreserveUnknownFields: ptr.To(true)}}), []string{"status.conditions[] by type"}},
		"none":                 {defined(fields{"status": object(nil)}), []string{"status.conditions"}},
	} {
		if got := lacking(want, tt.have); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}
