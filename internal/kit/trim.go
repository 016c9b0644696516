package kit

import (
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// Trim takes what nobody needs out of an object that is to be kept, as informers'
// transforms do: the managed fields, and, of an EndpointSlice, what its endpoints say
// alike, and the room for more of them. A hundred thousand endpoints have some few zones, nodes
// and conditions, and each a copy of them otherwise; and decoding leaves up to as much room
// again as there are endpoints.
func Trim(object any) (any, error) {
	if accessor, ok := object.(metav1.Object); ok {
		accessor.SetManagedFields(nil)
	}
	if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
		slice.Endpoints = exact(slice.Endpoints)
		for i := range slice.Endpoints {
			share(&slice.Endpoints[i])
		}
	}
	return object, nil
}

// exact returns endpoints in no more memory than they need.
func exact(endpoints []discoveryv1.Endpoint) []discoveryv1.Endpoint {
	if cap(endpoints) == len(endpoints) {
		return endpoints
	}
	return append(make([]discoveryv1.Endpoint, 0, len(endpoints)), endpoints...)
}

// share has an endpoint point to the one copy of what others say too.
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

// interner keeps one copy of each string. Zones and nodes come and go, and what a member
// of the clusterset says is not ours to trust, so it forgets everything when there is too
// much of it.
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
