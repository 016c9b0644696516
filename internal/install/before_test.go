package install

import (
	"slices"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
)

// What a definition lacks of an older one: a program of the older version may need it after a rollback.
func TestLacks(t *testing.T) {
	type schema = apiextensionsv1.JSONSchemaProps
	object := func(fields map[string]schema) schema { return schema{Type: "object", Properties: fields} }
	text := schema{Type: "string"}
	list := func(of schema) schema {
		return schema{Type: "array", Items: &apiextensionsv1.JSONSchemaPropsOrArray{Schema: &of}}
	}
	values := func(of schema) schema {
		return schema{Type: "object", AdditionalProperties: &apiextensionsv1.JSONSchemaPropsOrBool{Schema: &of}}
	}
	definition := func(served bool, name string, fields map[string]schema) *apiextensionsv1.CustomResourceDefinition {
		s := object(fields)
		return &apiextensionsv1.CustomResourceDefinition{Spec: apiextensionsv1.CustomResourceDefinitionSpec{Versions: []apiextensionsv1.CustomResourceDefinitionVersion{
			{Name: name, Served: served, Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &s}},
		}}}
	}
	deep := map[string]schema{"spec": object(map[string]schema{
		"a": text, "list": list(object(map[string]schema{"b": text})), "map": values(object(map[string]schema{"c": text})),
	})}
	for name, tc := range map[string]struct {
		want, have *apiextensionsv1.CustomResourceDefinition
		gone       []string
	}{
		"the same":        {definition(true, "v1", deep), definition(true, "v1", deep), nil},
		"more":            {definition(true, "v1", deep), definition(true, "v1", nil), nil},
		"another version": {definition(true, "v2", deep), definition(true, "v1", deep), []string{"version v1"}},
		"not served":      {definition(false, "v1", deep), definition(true, "v1", deep), []string{"version v1"}},
		"never served":    {definition(true, "v2", deep), definition(false, "v1", deep), nil},
		"a field":         {definition(true, "v1", nil), definition(true, "v1", deep), []string{"field v1.spec"}},
		"fields inside": {
			definition(true, "v1", map[string]schema{"spec": object(map[string]schema{"list": list(object(nil)), "map": values(object(nil))})}),
			definition(true, "v1", deep), []string{"field v1.spec.a", "field v1.spec.list[].b", "field v1.spec.map.*.c"},
		},
		"any fields": {
			definition(true, "v1", map[string]schema{"spec": {Type: "object", XPreserveUnknownFields: ptr.To(true)}}), definition(true, "v1", deep), nil,
		},
	} {
		if gone := lacks(tc.want, tc.have); !slices.Equal(gone, tc.gone) {
			t.Errorf("%s: %q, want %q", name, gone, tc.gone)
		}
	}
}
