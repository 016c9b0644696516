package install

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/version"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Labels with versions of a CustomResourceDefinition. Those of the Multi-Cluster Services API have the first two (see
// its module's embed.go), Atoll's have the third.
const (
	labelRelease     = "multicluster.x-k8s.io/release-version"
	labelRevision    = "multicluster.x-k8s.io/crd-schema-revision"
	labelOwnRevision = "atoll.dev/crd-revision"
)

// verdict says what to do about a CustomResourceDefinition.
type verdict int

const (
	apply  verdict = iota // absent, older, or the same
	keep                  // a different one exists that is compatible
	refuse                // a different one exists that is incompatible
)

// compareDefinition compares a definition with the existing one, which may be nil. The note explains verdicts other
// than a plain apply.
func compareDefinition(want, have *apiextensionsv1.CustomResourceDefinition, replace bool) (verdict, string) {
	if have == nil {
		return apply, ""
	}
	var missing []string
	for _, v := range want.Spec.Versions {
		if !slices.ContainsFunc(have.Spec.Versions, func(h apiextensionsv1.CustomResourceDefinitionVersion) bool {
			return h.Name == v.Name && h.Served
		}) {
			missing = append(missing, v.Name)
		}
	}
	order, known := compare(have.Labels, want.Labels)
	switch {
	case known && order <= 0:
		return apply, ""
	case len(missing) == 0 && known:
		return keep, "the CustomResourceDefinition in the cluster is newer"
	case len(missing) == 0:
		return keep, "another product installed this CustomResourceDefinition, but it serves the same versions"
	case known:
		return refuse, fmt.Sprintf("the CustomResourceDefinition in the cluster is newer than this version of atoll, and no longer serves %s: use a newer version of atoll", strings.Join(missing, ", "))
	case replace:
		return apply, ""
	default:
		return refuse, fmt.Sprintf("another product installed a CustomResourceDefinition with this name, which does not serve %s. Atoll's CustomResourceDefinition serves %s. If no other product needs the installed CustomResourceDefinition, replace it with --replace-crds, which keeps the objects",
			strings.Join(missing, ", "), strings.Join(served(want), ", "))
	}
}

func served(crd *apiextensionsv1.CustomResourceDefinition) []string {
	var names []string
	for _, v := range crd.Spec.Versions {
		if v.Served {
			names = append(names, v.Name)
		}
	}
	return names
}

// compare orders two definitions by their labels; known is false if the labels do not suffice.
func compare(a, b map[string]string) (order int, known bool) {
	va, errA := definitionVersion(a)
	vb, errB := definitionVersion(b)
	if errA != nil || errB != nil {
		return 0, false
	}
	order, err := va.Compare(vb.String())
	return order, err == nil
}

func definitionVersion(labels map[string]string) (*version.Version, error) {
	if own := labels[labelOwnRevision]; own != "" {
		return version.ParseGeneric("0." + own)
	}
	return version.ParseGeneric(labels[labelRelease] + "." + cmp.Or(labels[labelRevision], "0"))
}

// CRDs applies CustomResourceDefinitions and waits until their kinds are served. It keeps newer and foreign ones. With
// replace, it overwrites foreign ones that lack a version.
func (t *Target) CRDs(ctx context.Context, crds []*unstructured.Unstructured, replace bool) error {
	wanted, err := t.compareAll(ctx, crds, replace)
	if err != nil {
		return err
	}
	if err := t.Apply(ctx, wanted...); err != nil {
		return err
	}
	for _, crd := range crds {
		if err := Wait(ctx, patience, func(ctx context.Context) error { return t.established(ctx, crd) }); err != nil {
			return fmt.Errorf("waiting for %s: %w", Name(crd), err)
		}
	}
	return nil
}

// CheckCRDs returns the error that CRDs would return because of existing definitions.
func (t *Target) CheckCRDs(ctx context.Context, crds []*unstructured.Unstructured, replace bool) error {
	_, err := t.compareAll(ctx, crds, replace)
	return err
}

// Foreign returns the names of existing definitions that are neither Atoll's nor the Multi-Cluster Services API's.
func (t *Target) Foreign(ctx context.Context, crds []*unstructured.Unstructured) (foreign []string, err error) {
	for _, crd := range crds {
		want, have, err := t.definitions(ctx, crd)
		if err != nil {
			return nil, err
		}
		if have == nil {
			continue
		}
		if _, known := compare(have.Labels, want.Labels); !known {
			foreign = append(foreign, crd.GetName())
		}
	}
	return foreign, nil
}

// compareAll returns the definitions to apply, or an error if one is refused.
func (t *Target) compareAll(ctx context.Context, crds []*unstructured.Unstructured, replace bool) ([]*unstructured.Unstructured, error) {
	var failed []error
	var wanted []*unstructured.Unstructured
	for _, crd := range crds {
		want, have, err := t.definitions(ctx, crd)
		if err != nil {
			return nil, err
		}
		switch v, note := compareDefinition(want, have, replace); v {
		case apply:
			wanted = append(wanted, crd)
		case keep:
			t.Report(Kept, crd, note)
		case refuse:
			failed = append(failed, fmt.Errorf("%s: %s", Name(crd), note))
		}
	}
	return wanted, errors.Join(failed...)
}

// definitions returns a definition and the existing one of that name, or nil.
func (t *Target) definitions(ctx context.Context, crd *unstructured.Unstructured) (want, have *apiextensionsv1.CustomResourceDefinition, err error) {
	if want, err = typed(crd); err != nil {
		return nil, nil, err
	}
	have = &apiextensionsv1.CustomResourceDefinition{}
	switch err := t.Get(ctx, client.ObjectKeyFromObject(crd), have); {
	case apierrors.IsNotFound(err):
		return want, nil, nil
	case err != nil:
		return nil, nil, fmt.Errorf("reading %s: %w", Name(crd), err)
	}
	return want, have, nil
}

func typed(crd *unstructured.Unstructured) (*apiextensionsv1.CustomResourceDefinition, error) {
	into := &apiextensionsv1.CustomResourceDefinition{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(crd.Object, into); err != nil {
		return nil, fmt.Errorf("reading %s: %w", Name(crd), err)
	}
	return into, nil
}

// established returns nil when the definition's kind is served.
func (t *Target) established(ctx context.Context, crd *unstructured.Unstructured) error {
	have := &apiextensionsv1.CustomResourceDefinition{}
	if err := t.Get(ctx, client.ObjectKeyFromObject(crd), have); err != nil {
		return err
	}
	// The API server may serve the kind a moment after it sets the condition Established.
	return t.listObjects(ctx, have, &unstructured.UnstructuredList{}, 1)
}

// listObjects lists at most limit objects of a definition's kind; 0 means all.
func (t *Target) listObjects(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition, list *unstructured.UnstructuredList, limit int64) error {
	list.SetAPIVersion(crd.Spec.Group + "/" + crd.Spec.Versions[0].Name)
	list.SetKind(crd.Spec.Names.ListKind)
	return t.List(ctx, list, client.Limit(limit))
}
