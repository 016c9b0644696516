package clusterset

import "strings"

// kind says what a name within the zone stands for.
type kind uint8

const (
	unknown    kind = iota // nothing in the schema
	apex                   // the zone itself
	version                // dns-version, the TXT record of the schema
	nsParent               // dns, which exists because ns.dns does
	nameserver             // ns.dns, the target of the zone's NS record
	root                   // svc, above all namespaces
	namespace              // <ns>.svc
	service                // <svc>.<ns>.svc, or a name below it
	pointer                // an address in a reverse zone, or the beginning of one
)

// question is a name within the zone, taken apart.
type question struct {
	kind kind
	// namespace is set for the kinds namespace and service.
	namespace string
	// service is "<svc>.<ns>", as the index has it.
	service string
	// rest is what stands to the left of the service: "" for the service itself,
	// "_<port>._<proto>", "<hostname>.<clusterid>" with one or two labels for
	// the cluster, or a part of these, or nonsense.
	rest string
}

// parseQuestion takes apart name, which is in lower case, relative to the zone
// and without a dot at its end. It allocates nothing.
//
// A label with a dot of its own comes as "a\.b" and is torn at that dot, which
// does no harm: the backslash stays in a label, and no name that is served has
// one.
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
