package names

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// Object names are injective over what they name: two different exports, slices
// or services never get the same name. Where the readable form would be
// ambiguous or too long, a prefix of it and a digest of all its parts are taken.
// The readable forms contain dots and the digested ones do not, so that the two
// can't meet either.
const (
	maxObjectName  = 253 // DNS subdomain, as most objects' names
	maxServiceName = 63  // DNS label, as Services' names
	digestLength   = 24  // hex digits: 96 bits
)

// Export names the record of one cluster's export of a Service on the broker.
// A Service's and a namespace's name are DNS labels, so the dots are
// unambiguous whether the cluster id has one label or two.
func Export(cluster ClusterID, namespace, service string) string {
	return service + "." + namespace + "." + cluster.String()
}

// Aggregate names the clusterset's ServiceImport on the broker.
func Aggregate(namespace, service string) string {
	return service + "." + namespace
}

// BrokerSlice names the slice on the broker that is made of a cluster's EndpointSlice.
func BrokerSlice(cluster ClusterID, namespace, slice string) string {
	return sliceFrom(slice, namespace, cluster.String())
}

// ImportedSlice names the slice in the importing clusters that is made of a cluster's EndpointSlice. The namespace is the slice's own.
func ImportedSlice(cluster ClusterID, slice string) string {
	return sliceFrom(slice, cluster.String())
}

// OtherImportedSlice names the imported slice where somebody else's slice already has the name that ImportedSlice returns.
func OtherImportedSlice(name string) string {
	return digested(name, maxObjectName, "other", name)
}

// ClusterIPSlice stands for the name of a source slice where a Service's cluster IP of
// one family is published and no EndpointSlice has that as its endpoint. It is no valid
// name, so that no EndpointSlice can have it.
func ClusterIPSlice(service, family string) string {
	return service + ":" + strings.ToLower(family)
}

// sliceFrom joins a slice's name and its origin. A slice's name may contain dots
// itself, and then the readable form would be ambiguous; that of a cluster IP is none.
func sliceFrom(slice string, origin ...string) string {
	readable := slice + "." + strings.Join(origin, ".")
	if !strings.ContainsAny(slice, ".:") && len(readable) <= maxObjectName {
		return readable
	}
	return digested(slice, maxObjectName, append([]string{slice}, origin...)...)
}

// derivedServices is how many names there are for one derived Service.
const derivedServices = 5

// DerivedServices are the names that an imported service's derived Service may have, in the order in which they are tried: the usual
// one, and those for where Services of somebody else's already have the names before. A headless one has names of its own, because
// the Service with the clusterset IP stays while the import is headless.
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

// derivedService is service with a suffix, which tells it from those of other services. Service names begin with
// a letter (RFC 1035 label), so one that begins with a digit gets letters in front.
func derivedService(service, suffix string) string {
	startsWithLetter := service != "" && service[0] >= 'a' && service[0] <= 'z'
	if startsWithLetter && len(service)+len(suffix) <= maxServiceName {
		return service + suffix
	}
	// A digest's digits are hexadecimal, so this can't end in a suffix too.
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
