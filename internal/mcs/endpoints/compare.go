package endpoints

import (
	"maps"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Same reports whether a stored slice has everything that it should have. It ignores others' labels and annotations,
// and a different last change time alone. nil means a missing slice.
func Same(have, want *discoveryv1.EndpointSlice) bool {
	if have == nil || want == nil {
		return have == want
	}
	return have.AddressType == want.AddressType && sameEndpoints(have.Endpoints, want.Endpoints) &&
		sameOtherwise(have, want, names.AnnotationLastChangeTriggerTime)
}

// SameButHints is Same without the topology hints, which follow from other slices too.
func SameButHints(have, want *discoveryv1.EndpointSlice) bool {
	return have != nil && want != nil && have.AddressType == want.AddressType &&
		slices.EqualFunc(have.Endpoints, want.Endpoints, func(a, b discoveryv1.Endpoint) bool { return sameEndpoint(&a, &b) }) &&
		sameOtherwise(have, want, names.AnnotationLastChangeTriggerTime)
}

// sameOtherwise compares everything except the endpoints and some annotations.
func sameOtherwise(have, want *discoveryv1.EndpointSlice, except ...string) bool {
	return !hasOther(have.Labels, want.Labels, passingLabels) && !hasOther(have.Annotations, want.Annotations, passingAnnotations) && includes(have.Labels, want.Labels) &&
		includes(have.Annotations, want.Annotations, except...) &&
		samePorts(have.Ports, want.Ports) &&
		equality.Semantic.DeepEqual(have.OwnerReferences, want.OwnerReferences)
}

// includes reports whether have includes want, except for some keys.
func includes(have, want map[string]string, except ...string) bool {
	for key, value := range want {
		if had, found := have[key]; !slices.Contains(except, key) && (!found || had != value) {
			return false
		}
	}
	return true
}

// Updated returns a copy of have with all of want set. It keeps what others set, but removes what Atoll no longer sets:
// LabelHeadless would hide the slice from kube-proxy after its service gets a clusterset IP. If the endpoints are
// unchanged, it removes the last change time, because kube-proxy would measure from it. If have is nil or has another
// address type, which the API does not let change, it returns a copy of want.
func Updated(have, want *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	w := want.DeepCopy()
	if have == nil || have.AddressType != want.AddressType {
		return w
	}
	u := &discoveryv1.EndpointSlice{ObjectMeta: *have.ObjectMeta.DeepCopy(), AddressType: have.AddressType}
	u.Labels = with(have.Labels, w.Labels, passingLabels...)
	u.Annotations = with(have.Annotations, w.Annotations, append(slices.Clone(passingAnnotations), names.AnnotationLastChangeTriggerTime)...)
	if slices.EqualFunc(have.Endpoints, want.Endpoints, func(a, b discoveryv1.Endpoint) bool { return sameEndpoint(&a, &b) }) {
		delete(u.Annotations, names.AnnotationLastChangeTriggerTime)
	}
	u.OwnerReferences, u.Endpoints, u.Ports = w.OwnerReferences, w.Endpoints, w.Ports
	return u
}

// passingLabels and passingAnnotations are those that Atoll removes when they no longer apply.
var (
	passingLabels      = []string{names.LabelHeadless, names.LabelStandby}
	passingAnnotations = []string{names.LabelStandby, names.AnnotationAbsent}
)

// hasOther reports whether have has one of the keys, which want lacks.
func hasOther(have, want map[string]string, keys []string) bool {
	return slices.ContainsFunc(keys, func(key string) bool {
		_, had := have[key]
		_, wanted := want[key]
		return had && !wanted
	})
}

// with returns have with all of want set. The passing keys remain only if want has them.
func with(have, want map[string]string, passing ...string) map[string]string {
	all := make(map[string]string, len(have)+len(want))
	maps.Copy(all, have)
	for _, key := range passing {
		delete(all, key)
	}
	maps.Copy(all, want)
	return all
}

// Withdraws reports whether clients must stop using something when have becomes want: an endpoint goes or loses a
// condition, or a property of all endpoints changes.
func Withdraws(have, want *discoveryv1.EndpointSlice) bool {
	if have == nil {
		return false
	}
	if want == nil {
		want = &discoveryv1.EndpointSlice{}
	} else if !sameOtherwise(have, want, names.AnnotationLastChangeTriggerTime, names.AnnotationRevision) { // each change has a new revision
		return true
	}
	after := make(map[string]*discoveryv1.Endpoint, len(want.Endpoints))
	for i := range want.Endpoints {
		after[address(&want.Endpoints[i])] = &want.Endpoints[i]
	}
	left := hasReady(want)
	for i := range have.Endpoints {
		before := &have.Endpoints[i]
		now := after[address(before)]
		switch {
		case now == nil:
			if isUsed(before, left) {
				return true
			}
		case isReady(before) && !isReady(now), isServing(before) && !isServing(now), !isTerminating(before) && isTerminating(now):
			return true
		}
	}
	return false
}

func address(e *discoveryv1.Endpoint) string {
	if len(e.Addresses) == 0 {
		return ""
	}
	return e.Addresses[0]
}

// isUsed reports whether a removed endpoint gets traffic. It does if it is ready, or if it is serving while it
// terminates: kube-proxy uses that if no endpoint is ready. If the slice has another ready endpoint, that gets the
// traffic instead, unless internalTrafficPolicy is Local (only possible in its own cluster).
func isUsed(e *discoveryv1.Endpoint, readyLeft bool) bool {
	if isReady(e) || !isServing(e) {
		return isReady(e)
	}
	return e.NodeName != nil || !readyLeft
}

// SameEndpoints reports whether two slices have the same endpoints at the same ports.
func SameEndpoints(a, b *discoveryv1.EndpointSlice) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.AddressType == b.AddressType && sameEndpoints(a.Endpoints, b.Endpoints) && samePorts(a.Ports, b.Ports)
}

// sameEndpoints compares two lists, where nil and empty are equal as in the API. It avoids reflection because it runs
// for every endpoint of a slice at every event.
func sameEndpoints(a, b []discoveryv1.Endpoint) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !sameEndpoint(&a[i], &b[i]) || !sameHints(a[i].Hints, b[i].Hints) {
			return false
		}
	}
	return true
}

// sameEndpoint compares two endpoints without their topology hints, which depend on other endpoints.
func sameEndpoint(a, b *discoveryv1.Endpoint) bool {
	return slices.Equal(a.Addresses, b.Addresses) &&
		ptr.Equal(a.Conditions.Ready, b.Conditions.Ready) &&
		ptr.Equal(a.Conditions.Serving, b.Conditions.Serving) &&
		ptr.Equal(a.Conditions.Terminating, b.Conditions.Terminating) &&
		ptr.Equal(a.Hostname, b.Hostname) &&
		ptr.Equal(a.TargetRef, b.TargetRef) &&
		maps.Equal(a.DeprecatedTopology, b.DeprecatedTopology) &&
		ptr.Equal(a.NodeName, b.NodeName) &&
		ptr.Equal(a.Zone, b.Zone)
}

func sameHints(a, b *discoveryv1.EndpointHints) bool {
	if a == nil || b == nil {
		return a == b
	}
	return slices.Equal(a.ForZones, b.ForZones) && slices.Equal(a.ForNodes, b.ForNodes)
}

func samePorts(a, b []discoveryv1.EndpointPort) bool {
	return slices.EqualFunc(a, b, func(a, b discoveryv1.EndpointPort) bool {
		return ptr.Equal(a.Name, b.Name) && ptr.Equal(a.Protocol, b.Protocol) &&
			ptr.Equal(a.Port, b.Port) && ptr.Equal(a.AppProtocol, b.AppProtocol)
	})
}

// Defaults of unset conditions, from the API's documentation.

func isReady(e *discoveryv1.Endpoint) bool       { return ptr.Deref(e.Conditions.Ready, true) }
func isServing(e *discoveryv1.Endpoint) bool     { return ptr.Deref(e.Conditions.Serving, true) }
func isTerminating(e *discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Terminating, false) }

// IsStandby reports whether kube-proxy uses an endpoint only while none is ready.
func IsStandby(e *discoveryv1.Endpoint) bool { return !isReady(e) && isServing(e) && isTerminating(e) }

func hasReady(slice *discoveryv1.EndpointSlice) bool {
	return slices.ContainsFunc(slice.Endpoints, func(e discoveryv1.Endpoint) bool { return isReady(&e) })
}

// Changed returns how many endpoint addresses a slice gains and loses. nil means a missing slice.
func Changed(have, want *discoveryv1.EndpointSlice) (added, removed int) {
	before := map[string]int{}
	if have != nil {
		for i := range have.Endpoints {
			before[address(&have.Endpoints[i])]++
		}
	}
	if want != nil {
		for i := range want.Endpoints {
			if a := address(&want.Endpoints[i]); before[a] > 0 {
				before[a]--
			} else {
				added++
			}
		}
	}
	for _, n := range before {
		removed += n
	}
	return added, removed
}
