package importstatus

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/status"
)

// wanted is the status that an import should have.
type wanted struct {
	status mcsv1beta1.ServiceImportStatus
	// transition is whether Ready changes in a way that is worth an Event.
	transition bool
}

// want is the status of an import that comes from these clusters, into one whose Services have
// the given families. leftOut is what is said of other exporters. It is nil for a new one of which all will be known in a moment.
func want(have *mcsv1beta1.ServiceImport, clusters []string, families []corev1.IPFamily, so progress, leftOut string) *wanted {
	imp := have.DeepCopy()
	imp.Status = mcsv1beta1.ServiceImportStatus{
		EndpointSliceObjects: mcsv1beta1.EndpointSliceObjectsPresent,
		Conditions:           imp.Status.Conditions, // others may have theirs
	}
	if len(imp.Spec.IPFamilies) == 0 || derived.Portless(imp) { // nothing of it can be used here
		imp.Status.EndpointSliceObjects = mcsv1beta1.EndpointSliceObjectsAbsent
	}
	for _, cluster := range clusters {
		imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	condition := ready(imp, families, so, leftOut)
	if condition == nil {
		if meta.FindStatusCondition(have.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady)) == nil {
			return nil
		}
		return &wanted{status: imp.Status}
	}
	change := status.Decide(have.Status.Conditions, *condition, have.Generation, metav1.Now().Rfc3339Copy())
	meta.SetStatusCondition(&imp.Status.Conditions, change.Condition)
	return &wanted{status: imp.Status, transition: change.Transition}
}
