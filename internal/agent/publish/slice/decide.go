package slice

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
	// withdrawDelay is how long the endpoints of a source slice that is gone stay, because they may have moved to another slice.
	withdrawDelay = 50 * time.Millisecond
	// otherFormDelay is how long they stay when cluster IPs are published in place of pods, or pods in place of cluster IPs: the others come first.
	otherFormDelay = 5 * time.Second
	// keepWithdrawn is how long a withdrawn slice stays on the broker. That it is withdrawn tells other clusters; its deletion says nothing.
	keepWithdrawn = 10 * time.Minute
)

// inputsOf is what the publication of one source slice depends on.
type inputsOf struct {
	service types.NamespacedName
	// exported says that the service's record stands; export is nil where there is no Service any more.
	exported bool
	export   *endpoints.Export
	// clusterIP says that the request is for a cluster IP, byClusterIP that the service is published by these.
	clusterIP, byClusterIP bool
	clusterIPs             []string
	// revision is that of the service's record: a slice that is deleted with an export has a higher one when there is another export.
	revision int64
	// sources are the source slice or, of a cluster IP, all slices of the Service.
	sources []*discoveryv1.EndpointSlice
}

// want returns what is to be published, nil for nothing, and what of the source is left out because other clusters would refuse it.
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

// decide compares a slice on the broker with what is to be published, nil for none of them. gone is for how long there has been nothing to publish.
func decide(have, want *discoveryv1.EndpointSlice, of inputsOf, gone time.Duration) decision {
	switch {
	case have == nil && want == nil:
		return decision{}
	case want == nil && !of.exported: // that its record is withdrawn, or there is none, tells other clusters
		return decision{remove: true}
	case want == nil && layout.Withdrawn(have):
		return decision{remove: gone >= keepWithdrawn, wait: max(0, keepWithdrawn-gone)}
	case want == nil:
		delay := withdrawDelay
		if of.export != nil && of.clusterIP != of.byClusterIP {
			delay = otherFormDelay
		}
		slice := have.DeepCopy()
		slice.Endpoints = nil
		layout.Withdraw(slice)
		return decision{write: slice, wait: max(0, delay-gone)}
	case have != nil && have.AddressType != want.AddressType: // the API does not let it change
		return decision{remove: true}
	case have != nil && !layout.Withdrawn(have) && endpoints.Same(have, want):
		return decision{}
	}
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
