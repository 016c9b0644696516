package rights

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

const (
	// maxMetadata limits the labels and annotations of a member's object, in bytes. Agents write about 1 KiB, at most
	// 2.6 KiB: a heartbeat with requests to 32 members.
	maxMetadata = 4 << 10
	// maxCatalogueMetadata is the limit for a catalogue entry, which names all exporters: 500 of the longest ids are 32 KiB.
	maxCatalogueMetadata = 48 << 10
	// maxHolder is the maximum length of a host name.
	maxHolder = 253
	// maxManagers limits the managed fields entries. The API server keeps ten for updates.
	maxManagers = 32
)

// metadataBytes is the size of an object's labels and annotations.
var metadataBytes = admissionv1.Variable{
	Name: "metadataBytes",
	Expression: "[object.metadata.?labels.orValue({}), object.metadata.?annotations.orValue({})]" +
		".map(m, size(m) > 1000 ? 1000000 : m.map(k, size(k) + size(m[k])).sum()).sum()",
}

// limits refuses objects that no agent writes because they cost other members too much, or are unusable. It has the
// rules of internal/mcs/validation that CEL can express. Those for records and MemberClusters are in their CRDs.
func limits() []admissionv1.Validation {
	of := func(resource, rule, message string) admissionv1.Validation {
		return admissionv1.Validation{
			Expression: fmt.Sprintf("request.operation == 'DELETE' || request.resource.resource != '%s' || %s", resource, rule),
			Message:    message,
		}
	}
	return []admissionv1.Validation{
		{
			Expression: fmt.Sprintf("request.operation == 'DELETE' || variables.metadataBytes <= %d && !has(object.metadata.generateName)"+
				" && size(object.metadata.?managedFields.orValue([])) <= %d", maxMetadata, maxManagers),
			Message: fmt.Sprintf("the labels and annotations together must not exceed %d bytes", maxMetadata),
		},
		of("exportedservices", "request.operation == 'CREATE' || timestamp(object.spec.exportedAt) >= timestamp(oldObject.spec.exportedAt)",
			"spec.exportedAt must not move backwards"),
		of("exportedservices", hasRevision, revisionRule),
		of("endpointslices", hasRevision, revisionRule),
		of("exportedservices", "variables.ports.all(p, p.?name.orValue('') == '' ? size(variables.ports) == 1 : p.name.matches('"+dnsLabel+"'))",
			"a port's name must be a DNS label, but the only port of a Service may have no name"),
		of("exportedservices", "variables.ports.all(p, p.?appProtocol.orValue('') == '' || p.appProtocol.matches('"+qualifiedName+"'))",
			"a port's application protocol must be a qualified name"),
		// These two functions compare all pairs much faster than macros. Of more ports, importing clusters leave out duplicates.
		of("exportedservices", "size(variables.ports) > 100 || variables.portNames.all(n, variables.portNames.indexOf(n) == variables.portNames.lastIndexOf(n))"+
			" && variables.portNumbers.all(n, variables.portNumbers.indexOf(n) == variables.portNumbers.lastIndexOf(n))",
			"each port must have a unique name, and a unique combination of protocol and number"),
		// The CRD cannot have this rule: it limits no property's name before it estimates what the rule costs.
		of("memberclusters", "object.spec.?properties.orValue({}).all(k, k.matches('"+qualifiedName+"'))",
			"a property's name must be a qualified name"),
		of("leases", fmt.Sprintf("size(object.spec.?holderIdentity.orValue('')) <= %d && !has(object.spec.strategy) && !has(object.spec.preferredHolder)", maxHolder),
			fmt.Sprintf("a heartbeat Lease must have a holder identity of at most %d bytes, no strategy and no preferred holder", maxHolder)),
		of("endpointslices", "object.addressType in ['IPv4', 'IPv6']", "addressType must be IPv4 or IPv6"),
		of("endpointslices", "variables.fits", fmt.Sprintf("an EndpointSlice must have at most %d endpoints and %d ports, and ports times endpoints must not exceed %d",
			validation.MaxEndpoints, validation.MaxPorts, validation.MaxPairs)),
		// The API server validates names, protocols and addresses, but not port numbers.
		of("endpointslices", "!variables.fits || variables.slicePorts.all(p, (!has(p.port) || p.port >= 1 && p.port <= 65535) && p.?protocol.orValue('TCP') in ['TCP', 'UDP', 'SCTP'])",
			"ports must be between 1 and 65535 or absent, and protocols must be TCP, UDP or SCTP"),
		// kube-proxy uses only the first address.
		of("endpointslices", "!variables.fits || variables.endpoints.all(e, size(e.addresses) == 1 && !has(e.nodeName) && !has(e.targetRef) && !has(e.hints)"+
			" && size(e.?deprecatedTopology.orValue({})) == 0 && size(e.?zone.orValue('')) <= 63)",
			"an endpoint must have one address, a zone of at most 63 bytes, and no nodeName, targetRef, hints or deprecatedTopology"),
	}
}

// Importers remember revisions, so each record and slice needs one.
var (
	hasRevision  = fmt.Sprintf("object.metadata.?annotations['%s'].orValue('').matches('%s')", names.AnnotationRevision, revision.Pattern)
	revisionRule = fmt.Sprintf("the annotation %s must be a number of 1 to 18 digits that does not begin with 0", names.AnnotationRevision)
)

// lists are the lists of a record and a slice. For a custom resource, an empty list is null.
var lists = []admissionv1.Variable{
	{Name: "ports", Expression: "object.spec.?ports.orValue([])"},
	{Name: "endpoints", Expression: listOf("endpoints")},
	{Name: "slicePorts", Expression: listOf("ports")},
	{Name: "portNames", Expression: "variables.ports.map(p, p.?name.orValue(''))"},
	{Name: "portNumbers", Expression: "variables.ports.map(p, p.?protocol.orValue('TCP') + string(p.port))"},
	// Skip the other checks of an oversized object, to save the API server's time.
	{Name: "fits", Expression: fmt.Sprintf("size(variables.endpoints) <= %d && size(variables.slicePorts) <= %d && size(variables.endpoints) * size(variables.slicePorts) <= %d",
		validation.MaxEndpoints, validation.MaxPorts, validation.MaxPairs)},
}

func listOf(field string) string {
	return fmt.Sprintf("has(object.%[1]s) && object.%[1]s != null ? object.%[1]s : []", field)
}

// Regular expressions of Kubernetes' validation. The CRDs limit the lengths.
const (
	dnsLabel      = "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"
	qualifiedName = "^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$"
)

// catalogueSpec limits the spec of a catalogue entry.
const catalogueSpec = "size(object.spec.?ports.orValue([])) <= 1000 && size(object.spec.?trafficDistribution.orValue('')) <= 63" +
	" && size(object.spec.?internalTrafficPolicy.orValue('')) <= 63" +
	" && object.spec.?ports.orValue([]).all(p, size(p.?name.orValue('')) <= 63 && size(p.?appProtocol.orValue('')) <= 317)"
