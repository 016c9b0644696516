package kit

import (
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// written are the managed fields that show who has written a ServiceImport.
var written = []metav1.ManagedFieldsEntry{{Manager: names.ManagerImport}}

// Trim is an informer transform that removes unused data: the managed fields, except whether Atoll has written a ServiceImport
// (see package ownership), and, in an EndpointSlice, duplicate values
// and spare capacity. 100,000 endpoints share few zones, nodes and conditions, but each has its own copy after
// decoding, which also leaves up to twice the needed capacity.
func Trim(object any) (any, error) {
	if accessor, ok := object.(metav1.Object); ok {
		imp, ok := object.(*mcsv1beta1.ServiceImport)
		was := ok && ownership.WasManaged(imp)
		if accessor.SetManagedFields(nil); was {
			accessor.SetManagedFields(written)
		}
	}
	if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
		slice.Endpoints = exact(slice.Endpoints)
		for i := range slice.Endpoints {
			share(&slice.Endpoints[i])
		}
	}
	return object, nil
}

// exact returns endpoints without spare capacity.
func exact(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	if cap(endpoints) == len(endpoints) {
		return endpoints
	}
	return append(make([]discoveryv1.Endpoint, 0, len(endpoints)), endpoints...)
}

// share makes an endpoint use shared copies of common values.
func share(e *discoveryv1.Endpoint) {
	for _, condition := range []**bool{&e.Conditions.Ready, &e.Conditions.Serving, &e.Conditions.Terminating} {
		if *condition != nil {
			*condition = truths[**condition]
		}
	}
	e.Zone, e.NodeName = places.share(e.Zone), places.share(e.NodeName)
}

var (
	truths = map[bool]*bool{false: ptr.To(false), true: ptr.To(true)}
	places = interner{limit: 1 << 16, known: map[string]*string{}}
)

// interner keeps one copy of each string. Zones and nodes change, and members are not trusted, so it forgets everything
// at its limit.
type interner struct {
	limit int
	mu    sync.Mutex
	known map[string]*string
}

func (n *interner) share(s *string) *string {
	if s == nil {
		return nil
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if known, found := n.known[*s]; found {
		return known
	}
	if len(n.known) >= n.limit {
		clear(n.known)
	}
	n.known[*s] = s
	return s
}
