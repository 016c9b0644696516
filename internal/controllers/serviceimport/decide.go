package serviceimport

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/metadata"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Managed tells whether a ServiceImport is one of Atoll's.
func Managed(imp *mcsv1beta1.ServiceImport) bool {
	return imp.Labels[names.LabelManagedBy] == names.AgentManager
}

// want is the ServiceImport that a resolution amounts to in a cluster with the given
// Service network. What others own of have, which is empty where there is none yet, stays.
func want(have *mcsv1beta1.ServiceImport, service types.NamespacedName, resolution merge.Resolution, network local.ServiceNetwork) *mcsv1beta1.ServiceImport {
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:   service.Namespace,
			Name:        service.Name,
			Labels:      have.Labels,
			Annotations: have.Annotations,
		},
		Spec: resolution.Spec,
		Status: mcsv1beta1.ServiceImportStatus{
			EndpointSliceObjects: mcsv1beta1.EndpointSliceObjectsPresent,
		},
	}
	metadata.Apply(&imp.ObjectMeta, resolution.Exported())
	imp.Labels[names.LabelManagedBy] = names.AgentManager
	imp.Spec.IPs = have.Spec.IPs
	imp.Spec.IPFamilies = network.Supported(resolution.Spec.IPFamilies)
	if len(imp.Spec.IPFamilies) == 0 { // nothing of it can be used here
		imp.Status.EndpointSliceObjects = mcsv1beta1.EndpointSliceObjectsAbsent
	}
	if imp.Spec.Ports == nil {
		imp.Spec.Ports = []mcsv1beta1.ServicePort{} // required by the API, if empty
	}
	for _, cluster := range resolution.Clusters {
		imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	return imp
}

// conditions are those of an import with one that says that it is not judged yet, where none
// says more. It goes with the clusters in one write; from then on Ready is the VIP controller's.
func conditions(imp *mcsv1beta1.ServiceImport) []metav1.Condition {
	ready := string(mcsv1beta1.ServiceImportConditionReady)
	if meta.FindStatusCondition(imp.Status.Conditions, ready) != nil {
		return imp.Status.Conditions
	}
	all := slices.Clone(imp.Status.Conditions)
	meta.SetStatusCondition(&all, metav1.Condition{
		Type:               ready,
		Status:             metav1.ConditionUnknown,
		Reason:             string(mcsv1beta1.ServiceImportReasonPending),
		Message:            "The service is being imported.",
		ObservedGeneration: imp.Generation,
	})
	return all
}
