package serviceimport

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

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
	}
	metadata.Apply(&imp.ObjectMeta, resolution.Exported())
	imp.Labels[names.LabelManagedBy] = names.AgentManager
	imp.Spec.IPs = have.Spec.IPs
	imp.Spec.IPFamilies = network.Supported(resolution.Spec.IPFamilies)
	if imp.Spec.Ports == nil {
		imp.Spec.Ports = []mcsv1beta1.ServicePort{} // required by the API, if empty
	}
	return imp
}
