package importstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// want returns an import's status in a cluster with these IP families, and whether the change of Ready deserves an
// Event. It keeps conditions that others own.
func want(have *mcsv1beta1.ServiceImport, exported local.Exported, families []corev1.IPFamily, problems map[status.Part]status.Problem) (mcsv1beta1.ServiceImportStatus, bool) {
	imp := have.DeepCopy()
	imp.Status = mcsv1beta1.ServiceImportStatus{EndpointSliceObjects: mcsv1beta1.EndpointSliceObjectsPresent, Conditions: imp.Status.Conditions}
	if len(imp.Spec.IPFamilies) == 0 || derived.Portless(imp) { // unusable in this cluster
		imp.Status.EndpointSliceObjects = mcsv1beta1.EndpointSliceObjectsAbsent
	}
	for _, cluster := range merge.Clusters(exported.Imported) {
		imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	for _, id := range exported.Awaited {
		if slices.ContainsFunc(have.Status.Clusters, func(c mcsv1beta1.ClusterStatus) bool { return c.Cluster == id.String() }) {
			imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: id.String()})
		}
	}
	slices.SortFunc(imp.Status.Clusters, func(a, b mcsv1beta1.ClusterStatus) int { return strings.Compare(a.Cluster, b.Cluster) })
	condition := ready(imp, families, problems, strings.TrimSpace(LeftOut(exported.LeftOut, imp.Namespace)+" "+awaits(exported.Awaited)))
	switch {
	case condition == nil && meta.FindStatusCondition(have.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady)) == nil:
		return have.Status, false // wait for the derived Service, to write everything at once
	case condition == nil:
		return imp.Status, false
	}
	change := status.Decide(have.Status.Conditions, *condition, have.Generation, metav1.Now().Rfc3339Copy())
	meta.SetStatusCondition(&imp.Status.Conditions, change.Condition)
	return imp.Status, change.Transition
}

// awaits names the clusters whose exports are unknown.
func awaits(clusters []names.ClusterID) string {
	if len(clusters) == 0 {
		return ""
	}
	var ids []string
	for _, id := range clusters {
		ids = append(ids, id.String())
	}
	return fmt.Sprintf("The broker has lost the export records of %s. The import does not change until those clusters publish the records again or are removed.", names.ListClusters(ids))
}

// warning is a problem with the imports from a cluster.
type warning struct {
	cluster names.ClusterID // "" for the derived Service
	status.Warning
}

// warnings returns an import's warnings. If several slices have the same problem, it names one of them.
func warnings(problems map[status.Part]status.Problem) []warning {
	type about struct {
		cluster names.ClusterID
		reason  string
	}
	reported := map[about]bool{}
	var all []warning
	for _, part := range slices.SortedFunc(maps.Keys(problems), status.Part.Compare) {
		for _, r := range problems[part].Warnings {
			if key := (about{part.Cluster, r.Reason}); !reported[key] {
				reported[key] = true
				all = append(all, warning{part.Cluster, r})
			}
		}
	}
	return all
}

// ready returns an import's condition Ready, or nil to keep the current one while the derived Service is being written.
func ready(imp *mcsv1beta1.ServiceImport, families []corev1.IPFamily, problems map[status.Part]status.Problem, leftOut string) *metav1.Condition {
	switch {
	case len(imp.Spec.IPFamilies) == 0:
		return NotSupported(imp, families)
	case derived.Portless(imp):
		return Portless(imp)
	case problems[status.Part{}].Failure != "":
		return Failed(problems[status.Part{}].Failure)
	case imp.Annotations[names.AnnotationDerivedService] == "" || imp.Spec.Type == mcsv1beta1.ClusterSetIP && len(imp.Spec.IPs) == 0:
		return nil
	}
	var refused, texts []string
	reason := ""
	if leftOut != "" {
		texts = append(texts, leftOut)
	}
	for _, part := range slices.SortedFunc(maps.Keys(problems), status.Part.Compare) {
		if failure := problems[part].Failure; failure != "" && part.Slice != "" {
			reason = failure
			if id := part.Cluster.String(); !slices.Contains(refused, id) {
				refused = append(refused, id)
			}
		}
	}
	for _, r := range warnings(problems) {
		texts = append(texts, r.Message)
	}
	if len(refused) > 0 {
		return Pending(fmt.Sprintf("The agent cannot write all endpoints from %s, and retries: %s", names.ListClusters(refused), reason))
	}
	return Imported(imp, texts)
}
