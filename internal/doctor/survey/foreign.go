package survey

import (
	"context"
	"errors"
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// someNames is how many names one label selector has, so that a request's URL is not too long.
const someNames = 100

// readForeign reads the EndpointSlices of derived Services that Atoll does not manage, and copies of Atoll's own. kube-proxy
// uses all slices with the Service's label, whoever wrote them.
func (s *Survey) readForeign(ctx context.Context, c *install.Target, scope Scope) error {
	services := s.derivedServices(scope.Service)
	var called []string
	for service := range services {
		called = append(called, service.Name)
	}
	slices.Sort(called)
	for some := range slices.Chunk(slices.Compact(called), someNames) {
		others := &discoveryv1.EndpointSliceList{}
		managed := &metav1.PartialObjectMetadataList{} // without their endpoints, which can be very many
		managed.SetGroupVersionKind(discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"))
		if err := errors.Join(s.listSlices(ctx, c, others, scope, some, selection.NotEquals), s.listSlices(ctx, c, managed, scope, some, selection.Equals)); err != nil {
			return err
		}
		routes := func(slice metav1.ObjectMeta) bool {
			return services[types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}]
		}
		for _, slice := range others.Items {
			if len(slice.Endpoints) > 0 && routes(slice.ObjectMeta) {
				s.Cluster.Foreign = append(s.Cluster.Foreign, slice)
			}
		}
		for _, slice := range managed.Items {
			if !layout.HasImportedName(&slice) && routes(slice.ObjectMeta) {
				s.Cluster.Foreign = append(s.Cluster.Foreign, discoveryv1.EndpointSlice{ObjectMeta: slice.ObjectMeta})
			}
		}
	}
	return nil
}

// listSlices lists the EndpointSlices of some Services that Atoll manages, or that it does not manage.
func (s *Survey) listSlices(ctx context.Context, c client.Reader, list client.ObjectList, scope Scope, services []string, managed selection.Operator) error {
	of, err := labels.NewRequirement(discoveryv1.LabelServiceName, selection.In, services)
	if err != nil {
		return fmt.Errorf("selecting EndpointSlices: %w", err)
	}
	by, err := labels.NewRequirement(discoveryv1.LabelManagedBy, managed, []string{names.AgentManager})
	if err != nil {
		return fmt.Errorf("selecting EndpointSlices: %w", err)
	}
	return s.list(ctx, c, "EndpointSlices of derived Services", list, client.InNamespace(scope.Namespace),
		client.MatchingLabelsSelector{Selector: labels.NewSelector().Add(*of, *by)})
}

// derivedServices returns the derived Services of a service, or of all if it is empty. An import names its Service even if
// the Service has lost its labels.
func (s *Survey) derivedServices(of string) map[types.NamespacedName]bool {
	all := map[types.NamespacedName]bool{}
	for _, d := range s.Cluster.Services {
		if origin := d.Labels[names.LabelServiceName]; d.Labels[names.LabelManagedBy] == names.AgentManager && (of == "" || origin == of) {
			all[client.ObjectKeyFromObject(&d)] = true
		}
	}
	for _, i := range s.Cluster.Imports {
		if name := i.Annotations[names.AnnotationDerivedService]; name != "" && (of == "" || i.Name == of) && i.Labels[names.LabelManagedBy] != names.AggregateManager {
			all[types.NamespacedName{Namespace: i.Namespace, Name: name}] = true
		}
	}
	return all
}
