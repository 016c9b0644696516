package report

import (
	"fmt"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// foreign is the status of a ServiceImport that Atoll does not manage.
const foreign = "Foreign"

// foreignCondition returns the state of a ServiceImport that Atoll does not manage. The agents adopt one that only describes
// an exported service.
func foreignCondition(i *mcsv1beta1.ServiceImport, now time.Time) condition {
	if ownership.IsAdoptable(i) && now.Sub(i.CreationTimestamp.Time) < pendingTime {
		return condition{noStatus, "Another tool or person created this ServiceImport. If a cluster exports the service, the agents adopt the ServiceImport after 10 seconds.", Pending}
	}
	return condition{foreign, "Another tool or person created this ServiceImport, and Atoll does not manage the ServiceImport. " +
		"The ServiceImport sends no traffic to the endpoints that Atoll imports.", Warning}
}

// takeOver explains how to hand a foreign ServiceImport to Atoll.
func takeOver(s *survey.Survey, namespace, name string) string {
	return "If other clusters export the service, let Atoll manage the ServiceImport: " +
		s.On.Kubectl("label serviceimport %s -n %s --overwrite %s=%s", name, namespace, names.LabelManagedBy, names.AgentManager)
}

// foreignSlices adds the EndpointSlices of derived Services that Atoll does not manage, one finding for each Service.
func (f *Findings) foreignSlices(s *survey.Survey) {
	bySlice := map[types.NamespacedName][]discoveryv1.EndpointSlice{}
	var services []types.NamespacedName
	for _, slice := range s.Cluster.Foreign {
		service := types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
		if bySlice[service] == nil {
			services = append(services, service)
		}
		bySlice[service] = append(bySlice[service], slice)
	}
	slices.SortFunc(services, func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
	for _, service := range services {
		var all, deletable []string
		mirrored := false
		for _, slice := range bySlice[service] {
			all = append(all, slice.Name)
			if slice.Labels[discoveryv1.LabelManagedBy] == mirrors {
				mirrored = true // Kubernetes copies the Endpoints object again
			} else {
				deletable = append(deletable, slice.Name)
			}
		}
		var do []string
		if mirrored {
			do = append(do, s.On.Kubectl("delete endpoints %s -n %s", service.Name, service.Namespace))
		}
		if len(deletable) > 0 {
			slices.Sort(deletable)
			do = append(do, s.On.Kubectl("delete endpointslice %s -n %s", strings.Join(deletable, " "), service.Namespace))
		}
		slices.Sort(all)
		f.add(Error, AboutEndpoints+service.String(), fmt.Sprintf("Derived Service %s has EndpointSlices that Atoll does not manage: %s. "+
			"Some connections to the imported service go to the endpoints of these EndpointSlices.", service, strings.Join(all, ", ")),
			"Delete them: "+strings.Join(do, " && "))
	}
}

// mirrors is the manager of EndpointSlices that Kubernetes copies from Endpoints objects.
const mirrors = "endpointslicemirroring-controller.k8s.io"
