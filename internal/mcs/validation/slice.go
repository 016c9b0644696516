package validation

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Slice returns the usable part of an EndpointSlice, and what is left out: ports, endpoints, and endpoints' hostnames
// and zones. It does not check name, labels or annotations.
func Slice(slice *discoveryv1.EndpointSlice) (clean *discoveryv1.EndpointSlice, refused []Refused) {
	if slice.AddressType != discoveryv1.AddressTypeIPv4 && slice.AddressType != discoveryv1.AddressTypeIPv6 {
		empty := *slice
		empty.Endpoints = nil
		return &empty, []Refused{{"address type " + quote(string(slice.AddressType)), "the address type must be IPv4 or IPv6"}}
	}
	ports, refused := slicePorts(slice.Ports)
	most := MaxEndpoints
	if len(ports) > 0 {
		most = min(most, MaxPairs/len(ports))
	}
	var endpoints []discoveryv1.Endpoint // nil while they equal the given ones
	var zones zoneCache
	for i := range slice.Endpoints {
		if i == most {
			refused = append(refused, Refused{
				fmt.Sprintf("%d endpoints", len(slice.Endpoints)-i),
				fmt.Sprintf("an EndpointSlice with %d ports can have at most %d endpoints", len(ports), most),
			})
			if endpoints == nil {
				endpoints = slice.Endpoints[:i:i]
			}
			break
		}
		e, problems, same := endpoint(slice.AddressType, &slice.Endpoints[i], &zones)
		refused = append(refused, problems...)
		if !same && endpoints == nil {
			endpoints = append(make([]discoveryv1.Endpoint, 0, len(slice.Endpoints)), slice.Endpoints[:i]...)
		}
		if endpoints != nil && len(e.Addresses) > 0 {
			endpoints = append(endpoints, e)
		}
	}
	if len(refused) == 0 && endpoints == nil {
		return slice, nil
	}
	changed := *slice
	changed.Ports = ports
	if endpoints != nil {
		changed.Endpoints = endpoints
	}
	return &changed, refused
}

// endpoint returns the usable part of an endpoint, without addresses if there is none, and whether nothing was left
// out. It converts addresses to their canonical form.
func endpoint(family discoveryv1.AddressType, e *discoveryv1.Endpoint, zones *zoneCache) (clean discoveryv1.Endpoint, refused []Refused, same bool) {
	clean = *e
	if len(e.Addresses) == 0 {
		return clean, []Refused{{"an endpoint", "the endpoint has no address"}}, false
	}
	address, why := Address(family, e.Addresses[0])
	if why != "" {
		clean.Addresses = nil
		return clean, []Refused{{"endpoint " + quote(e.Addresses[0]), why}}, false
	}
	canonical := address.String()
	same = len(e.Addresses) == 1 && canonical == e.Addresses[0]
	if !same {
		clean.Addresses = []string{canonical}
	}
	if len(e.Addresses) > 1 { // the API defines no meaning for others, and kube-proxy ignores them
		refused = append(refused, Refused{"endpoint " + quote(canonical), fmt.Sprintf("the endpoint has %d addresses, but only the first address is used", len(e.Addresses))})
	}
	if e.Hostname != nil && len(validation.IsDNS1123Label(*e.Hostname)) > 0 {
		refused = append(refused, Refused{"hostname " + quote(*e.Hostname), "the hostname is not a DNS label"})
		clean.Hostname, same = nil, false
	}
	if e.Zone != nil && !zones.valid(*e.Zone) {
		refused = append(refused, Refused{"zone " + quote(*e.Zone), "the zone is not a valid label value"}) // hints use it
		clean.Zone, same = nil, false
	}
	return clean, refused, same
}

// zoneCache remembers the result for the last zone: adjacent endpoints are often in the same zone.
type zoneCache struct {
	last string
	ok   bool
}

func (z *zoneCache) valid(zone string) bool {
	if zone != z.last || zone == "" {
		z.last, z.ok = zone, zone != "" && len(validation.IsValidLabelValue(zone)) == 0
	}
	return z.ok
}

// keptLabels and keptAnnotations are used on members' EndpointSlices on the broker. All others are dropped.
var (
	keptLabels = []string{
		names.LabelServiceName, names.LabelServiceNamespace, names.LabelSourceCluster, names.LabelAdvertiseMode, names.LabelHeadless,
		discoveryv1.LabelManagedBy,
	}
	keptAnnotations = []string{names.AnnotationSourceSlice, names.AnnotationRevision, names.AnnotationLastChangeTriggerTime}
)

// CleanSlice cleans a member's EndpointSlice from the broker in place, as Slice does, including labels and annotations.
// RefusedOf returns what was left out.
func CleanSlice(slice *discoveryv1.EndpointSlice) {
	problem := originProblem(slice)
	slice.Labels, slice.Annotations = pick(slice.Labels, keptLabels), pick(slice.Annotations, keptAnnotations)
	clean, refused := Slice(slice)
	*slice = *clean
	if problem != nil {
		slice.Endpoints, refused = nil, []Refused{*problem}
	}
	if _, err := time.Parse(time.RFC3339Nano, slice.Annotations[names.AnnotationLastChangeTriggerTime]); err != nil {
		delete(slice.Annotations, names.AnnotationLastChangeTriggerTime)
	}
	if len(refused) > 0 {
		if slice.Annotations == nil {
			slice.Annotations = map[string]string{}
		}
		slice.Annotations[names.AnnotationRefused] = FormatRefused(refused)
	}
}

// FormatRefused formats what was left out for the annotation names.AnnotationRefused.
func FormatRefused(refused []Refused) string {
	return strconv.Itoa(len(refused)) + " " + Summary(refused)
}

// RefusedOf parses that annotation: how many parts of an object were left out, and a summary of them.
func RefusedOf(object metav1.Object) (count int, summary string) {
	number, summary, _ := strings.Cut(object.GetAnnotations()[names.AnnotationRefused], " ")
	count, _ = strconv.Atoi(number) // 0 if invalid
	return count, summary
}

// originProblem says why a member's EndpointSlice has no clear source, or returns nil. The source determines the
// imported slice's name.
func originProblem(slice *discoveryv1.EndpointSlice) *Refused {
	source := slice.Annotations[names.AnnotationSourceSlice]
	name := strings.TrimSuffix(strings.TrimSuffix(source, ":ipv4"), ":ipv6") // see names.ClusterIPSlice
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		return &Refused{"annotation " + names.AnnotationSourceSlice, quote(source) + " is not the name of an EndpointSlice"}
	}
	return nil
}

// pick returns the values of some keys, if they are no longer than a name.
func pick(from map[string]string, keys []string) map[string]string {
	picked := make(map[string]string, len(keys))
	for _, key := range keys {
		if value, ok := from[key]; ok && len(value) <= validation.DNS1123SubdomainMaxLength {
			picked[key] = value
		}
	}
	return picked
}
