package local

import (
	"context"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/informers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Sources is a live copy of the EndpointSlices that describe the cluster's own endpoints, in
// the namespaces from which Services are exported. Those of others would be most of what
// an agent holds and gets, in a large cluster that exports little.
type Sources struct {
	*informers.Slices
}

// byService is the index of sources by the name of their Service.
const byService = "service"

// NewSources returns a copy of no namespaces.
func NewSources(c client.WithWatch) *Sources {
	return &Sources{informers.NewSlices(c, nil, ownSlices, cache.Indexers{
		byService: func(object any) ([]string, error) {
			return []string{object.(*discoveryv1.EndpointSlice).Labels[discoveryv1.LabelServiceName]}, nil
		},
	})}
}

// ownSlices selects the slices of a namespace that Atoll has not imported.
func ownSlices(namespace string) []client.ListOption {
	return []client.ListOption{client.InNamespace(namespace), client.MatchingLabelsSelector{
		Selector: labels.NewSelector().Add(requirement(discoveryv1.LabelManagedBy, selection.NotEquals, names.AgentManager)),
	}}
}

// Imported selects the EndpointSlices that Atoll has imported. Should the cluster be a
// broker too, those that are published on it are something else.
func Imported() labels.Selector {
	return labels.NewSelector().Add(
		requirement(discoveryv1.LabelManagedBy, selection.Equals, names.AgentManager),
		requirement(names.LabelServiceNamespace, selection.DoesNotExist),
	)
}

func requirement(key string, op selection.Operator, values ...string) labels.Requirement {
	r, err := labels.NewRequirement(key, op, values)
	if err != nil {
		panic(err) // all of it is constant
	}
	return *r
}

// NeedLeaderElection makes the copy be kept on every replica, so that a new leader finds it
// filled.
func (s *Sources) NeedLeaderElection() bool { return false }

// Start keeps the copy current until ctx is done.
func (s *Sources) Start(ctx context.Context) error {
	s.Slices.Start(ctx)
	<-ctx.Done()
	return nil
}

// Of returns a Service's slices, if its namespace is followed.
func (s *Sources) Of(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	return s.ByIndex(service.Namespace, byService, service.Name)
}

// Named returns the one of a Service's slices that has a name, if there is one, and with "" all of them.
func (s *Sources) Named(service types.NamespacedName, name string) []*discoveryv1.EndpointSlice {
	if name == "" {
		return s.Of(service)
	}
	if slice := s.Get(service, name); slice != nil {
		return []*discoveryv1.EndpointSlice{slice}
	}
	return nil
}

// Get returns one of a Service's slices, or nil.
func (s *Sources) Get(service types.NamespacedName, name string) *discoveryv1.EndpointSlice {
	slice := s.ByKey(service.Namespace, types.NamespacedName{Namespace: service.Namespace, Name: name})
	if slice == nil || slice.Labels[discoveryv1.LabelServiceName] != service.Name {
		return nil
	}
	return slice
}
