// Package ownership decides whether Atoll manages a ServiceImport, and whether the agents may adopt one that Atoll does not
// manage. Agents, diagnostics and atoll leave must agree on the decisions.
package ownership

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// IsManaged reports whether Atoll manages a ServiceImport. The label alone does not decide: a person may remove or change it, or
// a tool may replace all labels and annotations.
func IsManaged(imp metav1.Object) bool {
	by := imp.GetLabels()[names.LabelManagedBy]
	return by == names.AgentManager || by != names.AggregateManager && (imp.GetAnnotations()[names.AnnotationApplied] != "" || WasManaged(imp))
}

// WasManaged reports whether Atoll has written the fields of a ServiceImport, whatever its labels and annotations are now.
// kit.Trim keeps what is needed of the managed fields.
func WasManaged(imp metav1.Object) bool {
	return slices.ContainsFunc(imp.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool {
		return f.Manager == names.ManagerImport && f.Subresource == ""
	})
}

// MarkWritten records in a ServiceImport's annotations that Atoll wrote its spec.
func MarkWritten(imp *mcsv1beta1.ServiceImport) {
	metav1.SetMetaDataAnnotation(&imp.ObjectMeta, names.AnnotationAppliedSpec, digest(&imp.Spec))
}

// IsEdited reports whether the spec of a ServiceImport that Atoll manages is not as Atoll wrote it. Only the fields that DNS
// answers need count.
func IsEdited(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Annotations[names.AnnotationAppliedSpec] != digest(&imp.Spec)
}

func digest(spec *mcsv1beta1.ServiceImportSpec) string {
	h := sha256.New()
	fmt.Fprintf(h, "%q %q", spec.Type, spec.IPs)
	for _, p := range spec.Ports {
		fmt.Fprintf(h, " %q %q %d", p.Name, cmp.Or(p.Protocol, corev1.ProtocolTCP), p.Port)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// IsAdoptable reports whether a ServiceImport only describes a service: it has no status, no controller, and no label or
// annotation of another implementation of the API.
func IsAdoptable(imp *mcsv1beta1.ServiceImport) bool {
	if len(imp.Status.Clusters)+len(imp.Status.Conditions) > 0 || metav1.GetControllerOf(imp) != nil || imp.Labels[names.LabelManagedBy] != "" {
		return false
	}
	for _, keys := range []map[string]string{imp.Labels, imp.Annotations} {
		for key := range keys {
			domain, _, _ := strings.Cut(key, "/")
			if slices.ContainsFunc(implementations, func(of string) bool { return domain == of || strings.HasSuffix(domain, "."+of) }) {
				return false
			}
		}
	}
	return true
}

// implementations are the domains of other implementations' labels. multicluster.kubernetes.io is the API's own.
var implementations = []string{"submariner.io", "cilium.io", "karmada.io", "linkerd.io", "gke.io", "istio.io", "multicluster.kubernetes.io"}
