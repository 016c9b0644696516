package report

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// leftovers adds derived Services without a ServiceImport, and records without a ServiceExport: the agents delete them at once,
// unless an API server refuses that. No object is left whose condition could say so.
//
// An empty name means all services.
func (f *Findings) leftovers(s *survey.Survey, of types.NamespacedName) {
	if len(s.Unread) > 0 {
		return // some ServiceExports or ServiceImports may exist
	}
	other := func(service types.NamespacedName) bool { return of.Name != "" && of != service }
	const because = " If this does not end within a minute, an API server refuses the deletion. The agents log the reason."
	for _, d := range s.Cluster.Services {
		service := types.NamespacedName{Namespace: d.Namespace, Name: d.Labels[names.LabelServiceName]}
		if !other(service) && d.Labels[names.LabelManagedBy] == names.AgentManager && !slices.ContainsFunc(s.Cluster.Imports, func(i mcsv1beta1.ServiceImport) bool { return isNamed(&i, service) }) {
			f.add(Pending, AboutImport+service.String(), fmt.Sprintf("The ServiceImport is deleted, but its derived Service %s still exists.", d.Name)+because, render.ShowAgentLog(s.On))
		}
	}
	if s.Broker == nil {
		return
	}
	for _, record := range s.Broker.Exports {
		service := record.Spec.Service()
		if !other(service) && record.Spec.ClusterID == s.ClusterID.String() && !slices.ContainsFunc(s.Cluster.Exports, func(e mcsv1beta1.ServiceExport) bool { return isNamed(&e, service) }) {
			f.add(Pending, AboutExport+service.String(), fmt.Sprintf("The ServiceExport is deleted, but the broker still has its record %s, so other clusters still import the service.", record.Name)+because, render.ShowAgentLog(s.On))
		}
	}
}

func isNamed(o metav1.Object, name types.NamespacedName) bool {
	return o.GetNamespace() == name.Namespace && o.GetName() == name.Name
}
