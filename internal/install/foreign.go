package install

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Foreign is a custom resource definition that somebody else has installed.
type Foreign struct {
	// Name is the definition's.
	Name string
	// Lacks are fields of Atoll's definition that it has not, and Loses those that Atoll's would not keep in its place,
	// as paths like spec.ports[].name. Both are sorted, and without what is within one that is named. A list that several write, each
	// its own elements, is lacking where it is not one of such: status.conditions[] by type.
	Lacks, Loses []string
}

// Foreign returns what there is already of the definitions, by others than Atoll and the Multi-Cluster Services API.
func (t *Target) Foreign(ctx context.Context, crds []*unstructured.Unstructured) (foreign []Foreign, err error) {
	for _, crd := range crds {
		want, err := typed(crd)
		if err != nil {
			return nil, err
		}
		have := &apiextensionsv1.CustomResourceDefinition{}
		if err := t.Get(ctx, client.ObjectKeyFromObject(crd), have); err != nil {
			if client.IgnoreNotFound(err) == nil {
				continue
			}
			return nil, fmt.Errorf("reading %s: %w", Name(crd), err)
		}
		if _, known := compare(have.Labels, want.Labels); !known {
			foreign = append(foreign, Foreign{Name: crd.GetName(), Lacks: lacking(want, have), Loses: missing(have, want)})
		}
	}
	return foreign, nil
}

// lacking are fields that are missing, and lists that are not what they should be.
func lacking(want, have *apiextensionsv1.CustomResourceDefinition) []string {
	paths := missing(want, have)
	for _, version := range want.Spec.Versions {
		i := slices.IndexFunc(have.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == version.Name })
		if i >= 0 && version.Schema != nil && have.Spec.Versions[i].Schema != nil {
			paths = append(paths, unkeyed(version.Schema.OpenAPIV3Schema, have.Spec.Versions[i].Schema.OpenAPIV3Schema, "")...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// unkeyed are lists of a schema whose elements are known by keys, so that each can have a writer of its own, and which in
// another are written as a whole: nil is one that says nothing of what is in it.
func unkeyed(a, b *apiextensionsv1.JSONSchemaProps, path string) (paths []string) {
	if a.XListType != nil && *a.XListType == "map" && (b == nil || b.XListType == nil || *b.XListType != "map") {
		return []string{path + "[] by " + strings.Join(a.XListMapKeys, ", ")}
	}
	if a.Items != nil && a.Items.Schema != nil && b != nil && b.Items != nil && b.Items.Schema != nil {
		paths = unkeyed(a.Items.Schema, b.Items.Schema, path+"[]")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		mine, within := a.Properties[name], strings.TrimPrefix(path+"."+name, ".")
		var other *apiextensionsv1.JSONSchemaProps
		if b != nil {
			its, has := b.Properties[name]
			switch {
			case has:
				other = &its
			case b.XPreserveUnknownFields == nil || !*b.XPreserveUnknownFields:
				continue // it is missing
			}
		}
		paths = append(paths, unkeyed(&mine, other, within)...)
	}
	return paths
}

// missing are fields of the versions that a serves which b, in the same version, has not. A version that b does not serve is
// missing as a whole.
func missing(a, b *apiextensionsv1.CustomResourceDefinition) (paths []string) {
	for _, version := range a.Spec.Versions {
		i := slices.IndexFunc(b.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return v.Name == version.Name && v.Served
		})
		switch {
		case !version.Served:
		case i < 0:
			paths = append(paths, "version "+version.Name)
		case version.Schema != nil && b.Spec.Versions[i].Schema != nil:
			paths = append(paths, missingIn(version.Schema.OpenAPIV3Schema, b.Spec.Versions[i].Schema.OpenAPIV3Schema, "")...)
		}
	}
	slices.Sort(paths)
	return slices.Compact(paths)
}

// missingIn are fields of a schema that another has not. The other may keep fields that it does not name.
func missingIn(a, b *apiextensionsv1.JSONSchemaProps, path string) (paths []string) {
	if a == nil || b == nil || b.XPreserveUnknownFields != nil && *b.XPreserveUnknownFields {
		return nil
	}
	if a.Items != nil && b.Items != nil {
		paths = missingIn(a.Items.Schema, b.Items.Schema, path+"[]")
	}
	for _, name := range slices.Sorted(maps.Keys(a.Properties)) {
		within := name
		if path != "" {
			within = path + "." + name
		}
		mine := a.Properties[name]
		if its, has := b.Properties[name]; has {
			paths = append(paths, missingIn(&mine, &its, within)...)
		} else {
			paths = append(paths, within)
		}
	}
	return paths
}
