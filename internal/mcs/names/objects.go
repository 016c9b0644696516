package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Object names are injective: two different exports, slices or services never get the same name. If the readable form
// would be ambiguous or too long, the name is a prefix of it and a digest of all parts. Only readable forms contain
// dots, so the two forms never collide.
const (
	maxObjectName  = 253 // DNS subdomain, for most objects
	maxServiceName = 63  // DNS label, for Services
	digestLength   = 24  // hex digits: 96 bits
)

// Export names a cluster's record of an exported Service on the broker. Service and namespace names are DNS labels, so
// the dots are unambiguous even if the cluster id has two labels.
func Export(cluster ClusterID, namespace, service string) string {
	return service + "." + namespace + "." + cluster.String()
}

// CatalogueEntry names the clusterset's ServiceImport of a service on the broker.
func CatalogueEntry(namespace, service string) string { return service + "." + namespace }

// ServicePolicy names the hub's policy of a service on the broker.
func ServicePolicy(namespace, service string) string { return service + "." + namespace }

// BrokerSlice names the slice on the broker for a cluster's EndpointSlice.
func BrokerSlice(cluster ClusterID, namespace, slice string) string {
	return sliceFrom(slice, namespace, cluster.String())
}

// ImportedSlice names the slice in importing clusters for a cluster's EndpointSlice, in the same namespace.
func ImportedSlice(cluster ClusterID, slice string) string {
	return sliceFrom(slice, cluster.String())
}

// ImportedPorts names the imported slice of some ports of a cluster's EndpointSlice, by the first of the ports. All ports of a
// slice whose endpoints have the same roles are in one imported slice (internal/mcs/choice); without a port, it is the one with
// the first port of all, which has the name from ImportedSlice.
func ImportedPorts(cluster ClusterID, slice, port string) string {
	if port == "" {
		return ImportedSlice(cluster, slice)
	}
	return digested(slice, maxObjectName, "ports", port, slice, cluster.String())
}

// OtherImportedSlice names the imported slice if a foreign slice has the name from ImportedSlice.
func OtherImportedSlice(name string) string {
	return digested(name, maxObjectName, "other", name)
}

// ClusterIPSlice replaces a source slice's name when a Service's cluster IP of one family is published, for which there
// is no EndpointSlice. It is an invalid name, so no EndpointSlice can have it.
func ClusterIPSlice(service, family string) string {
	return service + ":" + strings.ToLower(family)
}

// sliceFrom joins a slice's name and its origin. If the name contains dots, the readable form would be ambiguous. A
// name from ClusterIPSlice has no valid readable form.
func sliceFrom(slice string, origin ...string) string {
	readable := slice + "." + strings.Join(origin, ".")
	if !strings.ContainsAny(slice, ".:") && len(readable) <= maxObjectName {
		return readable
	}
	return digested(slice, maxObjectName, append([]string{slice}, origin...)...)
}

const derivedServices = 5

// DerivedServices are the possible names of an imported service's derived Service, in order: the usual one, and
// alternatives if foreign Services have it. A headless Service has other names, because the Service with the clusterset
// IP remains while the import is headless.
func DerivedServices(service string, headless bool) []string {
	suffix := "-clusterset"
	if headless {
		suffix = "-clusterset-headless"
	}
	all := []string{derivedService(service, suffix)}
	for n := 1; n < derivedServices; n++ {
		all = append(all, digested("s-"+service, maxServiceName, "fallback"+suffix, strconv.Itoa(n), service))
	}
	return all
}

// derivedService adds a suffix that distinguishes derived Services from others. Service names start with a letter (RFC
// 1035 label), so a name that starts with a digit gets a prefix.
func derivedService(service, suffix string) string {
	startsWithLetter := service != "" && service[0] >= 'a' && service[0] <= 'z'
	if startsWithLetter && len(service)+len(suffix) <= maxServiceName {
		return service + suffix
	}
	// The digest is hexadecimal, so this name cannot end in a suffix too.
	return digested("s-"+service, maxServiceName, "derived"+suffix, service)
}

// digested returns a prefix of readable without dots and colons, and the digest of parts.
func digested(readable string, limit int, parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	digest := hex.EncodeToString(sum[:])[:digestLength]
	prefix := strings.NewReplacer(".", "-", ":", "-").Replace(readable)
	prefix = prefix[:min(len(prefix), limit-digestLength-1)]
	return strings.TrimRight(prefix, "-") + "-" + digest
}
