package report

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// leftovers adds derived Services and EndpointSlices without a ServiceImport, EndpointSlices without an export, and records
// without a ServiceExport. The agents delete them at once, unless an API server refuses that. No object is left whose
// condition could say so.
//
// An empty name means all services.
func (f *Findings) leftovers(s *survey.Survey, of types.NamespacedName) {
	if len(s.Unread) > 0 {
		return // some ServiceExports or ServiceImports may exist
	}
	other := func(service types.NamespacedName) bool { return of.Name != "" && of != service }
	for _, d := range s.Cluster.Services {
		service := types.NamespacedName{Namespace: d.Namespace, Name: d.Labels[names.LabelServiceName]}
		if !other(service) && d.Labels[names.LabelManagedBy] == names.AgentManager && !slices.ContainsFunc(s.Cluster.Imports, func(i mcsv1beta1.ServiceImport) bool { return isNamed(&i, service) }) {
			f.add(Pending, AboutImport+service.String(), fmt.Sprintf("The ServiceImport is deleted, but its derived Service %s still exists.", d.Name)+because, render.ShowAgentLog(s.On))
		}
	}
	f.leftoverSlices(s, other)
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

// because is the cause of leftovers.
const because = " If the deletion is not complete within a minute, an API server refuses the deletion. The agents log the reason."

// exporter is a cluster that exports a service.
type exporter struct {
	service types.NamespacedName
	cluster names.ClusterID
}

// leftoverSlices adds imported EndpointSlices without a ServiceImport, or of clusters that no longer export the service, one
// finding for each service and cluster.
func (f *Findings) leftoverSlices(s *survey.Survey, other func(types.NamespacedName) bool) {
	imports := map[types.NamespacedName]*mcsv1beta1.ServiceImport{}
	for i := range s.Cluster.Imports {
		imports[types.NamespacedName{Namespace: s.Cluster.Imports[i].Namespace, Name: s.Cluster.Imports[i].Name}] = &s.Cluster.Imports[i]
	}
	exports := exporters(s)
	left := map[exporter][]string{}
	var order []exporter
	for _, slice := range s.Cluster.Slices {
		of := exporter{types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[names.LabelServiceName]}, layout.Cluster(&slice)}
		imp := imports[of.service]
		if of.cluster == "" || other(of.service) || imp != nil && mayHaveEndpoints(s, imp, of.cluster, exports[of]) {
			continue
		}
		if left[of] == nil {
			order = append(order, of)
		}
		left[of] = append(left[of], slice.Name)
	}
	for _, of := range order {
		text := "The ServiceImport is deleted, but its EndpointSlices of cluster %s still exist: %s."
		if imports[of.service] != nil {
			text = "Cluster %s no longer exports the service, but its EndpointSlices still exist in this cluster, so connections still go to their endpoints: %s."
		}
		f.add(Pending, AboutImport+of.service.String(), fmt.Sprintf(text, of.cluster, fewOf(left[of]))+because, render.ShowAgentLog(s.On))
	}
}

// mayHaveEndpoints reports whether an import has endpoints of a cluster that has an export or not: the agents keep those whose
// record the broker has lost.
func mayHaveEndpoints(s *survey.Survey, imp *mcsv1beta1.ServiceImport, cluster names.ClusterID, isExported bool) bool {
	_, applied := layout.Applied(imp)[cluster]
	return isExported || applied || s.Broker == nil && cluster != s.ClusterID
}

// exporters returns the exports on the broker, and this cluster's own.
func exporters(s *survey.Survey) map[exporter]bool {
	all := map[exporter]bool{}
	for _, e := range s.Cluster.Exports {
		all[exporter{types.NamespacedName{Namespace: e.Namespace, Name: e.Name}, s.ClusterID}] = true
	}
	if s.Broker != nil {
		for _, e := range s.Broker.Exports {
			all[exporter{e.Spec.Service(), names.ClusterID(e.Spec.ClusterID)}] = true
		}
	}
	return all
}

func isNamed(o metav1.Object, name types.NamespacedName) bool {
	return o.GetNamespace() == name.Namespace && o.GetName() == name.Name
}
