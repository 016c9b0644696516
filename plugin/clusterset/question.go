package clusterset

import "strings"

// kind classifies a name in the zone.
type kind uint8

const (
	unknown    kind = iota // not in the schema
	apex                   // the zone itself
	version                // dns-version, the schema's TXT record
	nsParent               // dns, the parent of ns.dns
	nameserver             // ns.dns, the target of the zone's NS record
	root                   // svc, the parent of all namespaces
	namespace              // <ns>.svc
	service                // <svc>.<ns>.svc, or a name below it
	pointer                // an address in a reverse zone, or a prefix of one
)

// question is a parsed name in the zone.
type question struct {
	kind kind
	// namespace is set for the kinds namespace and service.
	namespace string
	// service is "<svc>.<ns>", the index's key.
	service string
	// rest is the part left of the service: "" for the service itself, "_<port>._<proto>", "<hostname>.<clusterid>"
	// with a cluster of one or two labels, a part of these, or anything else.
	rest string
}

// parseQuestion parses name, which is in lower case, relative to the zone and without a final dot. It allocates
// nothing.
//
// It splits a label with an escaped dot ("a\.b") at that dot. This is harmless: the backslash stays, and no served
// name has one.
func parseQuestion(name string) question {
	switch name {
	case "":
		return question{kind: apex}
	case "dns-version":
		return question{kind: version}
	case "dns":
		return question{kind: nsParent}
	case "ns.dns":
		return question{kind: nameserver}
	case "svc":
		return question{kind: root}
	}
	name, ok := strings.CutSuffix(name, ".svc")
	if !ok {
		return question{}
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return question{kind: namespace, namespace: name}
	}
	q := question{kind: service, namespace: name[dot+1:], service: name}
	if dot = strings.LastIndexByte(name[:dot], '.'); dot >= 0 {
		q.rest, q.service = name[:dot], name[dot+1:]
	}
	return q
}
