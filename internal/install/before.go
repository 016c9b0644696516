package install

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	acmetav1 "k8s.io/client-go/applyconfigurations/meta/v1"
	"k8s.io/client-go/discovery"
)

// Before is what objects were before they are applied.
type Before struct {
	on *Target
	// applied is what was applied of those that exist, in the order in which they are applied. absent are those that do not exist.
	applied, absent []*unstructured.Unstructured
	versions        map[string]string // resourceVersions of applied, by Name
}

// Before reads what was applied of objects.
func (t *Target) Before(ctx context.Context, objects ...*unstructured.Unstructured) (*Before, error) {
	b := &Before{on: t, versions: map[string]string{}}
	schemas, err := discovery.NewDiscoveryClientForConfig(t.Config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", t.Config.Host, err)
	}
	extractor, err := acmetav1.NewUnstructuredExtractor(schemas)
	if err != nil {
		return nil, fmt.Errorf("reading the schemas of %s: %w", t.Config.Host, err)
	}
	for _, o := range objects {
		have, err := t.read(ctx, o)
		switch {
		case err != nil:
			return nil, fmt.Errorf("reading %s: %w", Name(o), err)
		case have == nil:
			b.absent = append(b.absent, o)
			continue
		}
		applied, err := extractor.Extract(have, fieldManager)
		if err != nil {
			return nil, fmt.Errorf("reading what was applied of %s: %w", Name(o), err)
		}
		b.applied = append(b.applied, applied)
		b.versions[Name(o)] = have.GetResourceVersion()
	}
	return b, nil
}

// Restore applies what was applied before, where that has changed, and deletes what did not exist.
func (b *Before) Restore(ctx context.Context) error {
	var failed []error
	for _, o := range b.applied {
		have, err := b.on.read(ctx, o)
		if err == nil && have != nil && have.GetResourceVersion() == b.versions[Name(o)] {
			continue
		}
		failed = append(failed, err, b.on.Apply(ctx, o))
	}
	created := slices.Clone(b.absent)
	slices.Reverse(created)
	return errors.Join(append(failed, b.on.Delete(ctx, created...))...)
}

// CheckWayBack returns an error if a rollback would need one of the present definitions: the programs that run now use versions or
// fields that the new definition lacks.
func (t *Target) CheckWayBack(ctx context.Context, crds []*unstructured.Unstructured) error {
	var failed []error
	for _, crd := range crds {
		want, have, err := t.definitions(ctx, crd)
		if err != nil {
			return err
		}
		if have == nil {
			continue
		}
		if v, _ := compareDefinition(want, have, false); v != apply {
			continue
		}
		if gone := lacks(want, have); len(gone) > 0 {
			failed = append(failed, fmt.Errorf("%s: the new definition has no %s, which the present programs may need after a rollback", Name(crd), strings.Join(gone, ", ")))
		}
	}
	return errors.Join(failed...)
}

// lacks returns the served versions and the fields of a definition that the wanted one does not have.
func lacks(want, have *apiextensionsv1.CustomResourceDefinition) (gone []string) {
	for _, old := range have.Spec.Versions {
		if !old.Served {
			continue
		}
		i := slices.IndexFunc(want.Spec.Versions, func(v apiextensionsv1.CustomResourceDefinitionVersion) bool { return v.Name == old.Name && v.Served })
		if i < 0 {
			gone = append(gone, "version "+old.Name)
			continue
		}
		if now := want.Spec.Versions[i]; old.Schema != nil && now.Schema != nil {
			gone = append(gone, lackingFields(now.Schema.OpenAPIV3Schema, old.Schema.OpenAPIV3Schema, old.Name)...)
		}
	}
	return gone
}

func lackingFields(want, have *apiextensionsv1.JSONSchemaProps, path string) (gone []string) {
	if have == nil || want == nil || want.XPreserveUnknownFields != nil && *want.XPreserveUnknownFields {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(have.Properties)) {
		old, now, field := have.Properties[name], want.Properties[name], path+"."+name
		if _, found := want.Properties[name]; !found {
			gone = append(gone, "field "+field)
			continue
		}
		gone = append(gone, lackingFields(&now, &old, field)...)
	}
	if have.Items != nil && want.Items != nil {
		gone = append(gone, lackingFields(want.Items.Schema, have.Items.Schema, path+"[]")...)
	}
	if have.AdditionalProperties != nil && want.AdditionalProperties != nil {
		gone = append(gone, lackingFields(want.AdditionalProperties.Schema, have.AdditionalProperties.Schema, path+".*")...)
	}
	return gone
}
