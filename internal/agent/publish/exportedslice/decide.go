package exportedslice

import (
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

const (
	// withdrawDelay is how long a deleted source slice's endpoints stay: they may have moved to another slice.
	withdrawDelay = 50 * time.Millisecond
	// otherFormDelay is how long endpoints stay after a switch between pods and cluster IPs: the new ones come first.
	otherFormDelay = 5 * time.Second
	// keepWithdrawn is how long a withdrawn slice stays on the broker. Importers act on the state, not on a deletion.
	keepWithdrawn = 10 * time.Minute
)

type inputsOf struct {
	service types.NamespacedName
	// exported is set while the service's record exists; export is nil if the Service is gone.
	exported bool
	export   *endpoints.Export
	// clusterIP: the request is for a cluster IP. byClusterIP: the service publishes cluster IPs.
	clusterIP, byClusterIP bool
	clusterIPs             []string
	// revision is the record's revision. After a new export, it exceeds the revisions of slices of the previous one.
	revision int64
	// sources are the source slice or, for a cluster IP, all slices of the Service.
	sources []*discoveryv1.EndpointSlice
}

// want returns the slice to publish, or nil, and the parts left out because other clusters would refuse them.
func (of inputsOf) want(name string) (slice *discoveryv1.EndpointSlice, refused string) {
	switch {
	case of.export == nil || of.clusterIP != of.byClusterIP || len(of.sources) == 0 && !of.clusterIP:
		return nil, ""
	case of.clusterIP:
		return of.export.ClusterIPSlices(of.clusterIPs, of.sources)[name], ""
	}
	slice, left := of.export.Slice(of.sources[0])
	if len(left) > 0 {
		refused = validation.Summary(left)
	}
	return slice, refused
}

// decision is what to do with a slice on the broker, after a wait: write it, delete it, or neither.
type decision struct {
	write  *discoveryv1.EndpointSlice
	remove bool
	wait   time.Duration
}

// decide compares a slice on the broker with the wanted one; both may be nil. gone is how long nothing was wanted.
func decide(have, want *discoveryv1.EndpointSlice, of inputsOf, gone time.Duration) decision {
	switch {
	case have == nil && want == nil:
		return decision{}
	case want == nil && !of.exported: // the withdrawn or missing record tells other clusters
		return decision{remove: true}
	case want == nil:
		return withdraw(have, of, gone)
	case have != nil && have.AddressType != want.AddressType: // the API forbids the change
		return decision{remove: true}
	case have != nil && !layout.Withdrawn(have) && endpoints.Same(have, want):
		return decision{}
	}
	return publish(have, want, of)
}

// withdraw removes the endpoints of a slice after a while, and then the slice.
func withdraw(have *discoveryv1.EndpointSlice, of inputsOf, gone time.Duration) decision {
	if layout.Withdrawn(have) {
		return decision{remove: gone >= keepWithdrawn, wait: max(0, keepWithdrawn-gone)}
	}
	delay := withdrawDelay
	if of.export != nil && of.clusterIP != of.byClusterIP {
		delay = otherFormDelay
	}
	slice := have.DeepCopy()
	slice.Endpoints = nil
	layout.Withdraw(slice)
	return decision{write: slice, wait: max(0, delay-gone)}
}

// publish writes the wanted slice with the next revision.
func publish(have, want *discoveryv1.EndpointSlice, of inputsOf) decision {
	slice, last := endpoints.Updated(have, want), of.revision-1
	if have != nil {
		last = max(last, layout.Revision(have))
	}
	layout.SetWithdrawn(slice, false)
	var madeOf []metav1.Object
	for _, s := range of.sources {
		madeOf = append(madeOf, s)
	}
	layout.SetRevision(slice, last, madeOf...)
	return decision{write: slice}
}
