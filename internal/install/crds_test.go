package install

import (
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// definition returns a CRD with labels (key=value) and served versions.
func definition(labels string, served ...string) *apiextensionsv1.CustomResourceDefinition {
	crd := &apiextensionsv1.CustomResourceDefinition{}
	crd.Labels = map[string]string{}
	for label := range strings.FieldsSeq(labels) {
		key, value, _ := strings.Cut(label, "=")
		crd.Labels[key] = value
	}
	for _, name := range served {
		crd.Spec.Versions = append(crd.Spec.Versions, apiextensionsv1.CustomResourceDefinitionVersion{Name: name, Served: true})
	}
	return crd
}

func TestJudge(t *testing.T) {
	upstream := func(release, revision string, served ...string) *apiextensionsv1.CustomResourceDefinition {
		return definition(labelRelease+"="+release+" "+labelRevision+"="+revision, served...)
	}
	ours := func(revision string, served ...string) *apiextensionsv1.CustomResourceDefinition {
		return definition(labelOwnRevision+"="+revision, served...)
	}
	want := upstream("v0.5.2", "0", "v1alpha1", "v1beta1")
	unserved := definition("", "v1alpha1", "v1beta1")
	unserved.Spec.Versions[1].Served = false
	for name, c := range map[string]struct {
		want, have *apiextensionsv1.CustomResourceDefinition
		replace    bool
		verdict    verdict
		note       string
	}{
		"none":                                           {want, nil, false, apply, ""},
		"the same":                                       {want, want, false, apply, ""},
		"an older release":                               {want, upstream("v0.3.0", "7", "v1alpha1"), false, apply, ""},
		"an older revision":                              {upstream("v0.5.2", "2", "v1beta1"), want, false, apply, ""},
		"a newer release":                                {want, upstream("v0.10.0", "0", "v1alpha1", "v1beta1", "v1"), false, keep, "newer"},
		"a newer revision":                               {want, upstream("v0.5.2", "1", "v1alpha1", "v1beta1"), false, keep, "newer"},
		"a newer CRD without a required version":         {want, upstream("v2.0.0", "0", "v1"), false, refuse, "no longer serves v1alpha1, v1beta1: use a newer version of atoll"},
		"which is not replaced":                          {want, upstream("v2.0.0", "0", "v1"), true, refuse, "use a newer version of atoll"},
		"another product's compatible CRD":               {want, definition("", "v1alpha1", "v1beta1"), true, keep, "another product installed"},
		"another product's incompatible CRD":             {want, definition("", "v1alpha1"), false, refuse, "does not serve v1beta1. Atoll's CustomResourceDefinition serves v1alpha1, v1beta1"},
		"another product's CRD without a served version": {want, unserved, false, refuse, "does not serve v1beta1"},
		"another product's CRD with --replace-crds":      {want, definition("", "v1alpha1"), true, apply, ""},
		"our own, older":                                 {ours("10", "v1"), ours("9", "v1"), false, apply, ""},
		"our own, newer":                                 {ours("9", "v1"), ours("10", "v1"), false, keep, "newer"},
		"our own, newer, not enough":                     {ours("9", "v1"), ours("10", "v2"), false, refuse, "use a newer version of atoll"},
	} {
		verdict, note := compareDefinition(c.want, c.have, c.replace)
		if verdict != c.verdict || !strings.Contains(note, c.note) || c.note == "" && note != "" {
			t.Errorf("%s: %v %q, want %v %q", name, verdict, note, c.verdict, c.note)
		}
	}
}
