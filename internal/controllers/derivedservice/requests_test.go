package derivedservice

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Service belongs to an import as long as either its labels or its owner say so: a change
// that takes the one away has to be put right.
func TestImportOf(t *testing.T) {
	labels := map[string]string{"atoll.dev/managed-by": "agent.atoll.dev", "multicluster.kubernetes.io/service-name": "web"}
	owners := []metav1.OwnerReference{{Kind: "ServiceImport", Name: "web"}}
	for name, tt := range map[string]struct {
		object metav1.ObjectMeta
		want   string
	}{
		"both":                     {metav1.ObjectMeta{Labels: labels, OwnerReferences: owners}, "web"},
		"labels alone":             {metav1.ObjectMeta{Labels: labels}, "web"},
		"owner alone":              {metav1.ObjectMeta{OwnerReferences: owners}, "web"},
		"a user's":                 {metav1.ObjectMeta{}, ""},
		"another owner's":          {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{Kind: "Deployment", Name: "web"}}}, ""},
		"of another one's making":  {metav1.ObjectMeta{Labels: map[string]string{"multicluster.kubernetes.io/service-name": "web"}}, ""},
		"of another import, owned": {metav1.ObjectMeta{Labels: map[string]string{"x": "y"}, OwnerReferences: []metav1.OwnerReference{{Kind: "ServiceImport", Name: "api"}}}, "api"},
	} {
		tt.object.Namespace = "shop"
		got := ""
		for _, r := range importOf(t.Context(), &corev1.Service{ObjectMeta: tt.object}) {
			got += r.Name
			if r.Namespace != "shop" {
				t.Errorf("%s: in namespace %s", name, r.Namespace)
			}
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
