package clusterset

import "strings"

// zone is an authoritative zone with its answers.
type zone struct {
	// name is in lower case and fully qualified.
	name     string
	services index
	builder  *builder
	// reverse is set for a reverse zone, which has no services.
	reverse *reverse
	// hostmaster and ns are the names in the SOA record. ns is also the target of the NS record and has the server's
	// own addresses.
	hostmaster string
	ns         *node
}

// newZone returns an empty zone. name is in lower case and fully qualified.
func newZone(name string) *zone {
	return &zone{
		name:       name,
		services:   newIndex(),
		builder:    newBuilder(name),
		hostmaster: join("hostmaster", name),
		ns:         &node{name: join("ns.dns", name)},
	}
}

// newPointerZone returns a reverse zone that shares the name server of another zone.
func newPointerZone(name string, names *reverse, of *zone) *zone {
	return &zone{name: name, hostmaster: of.hostmaster, ns: of.ns, reverse: names}
}

// relative cuts the zone from qname, which is in lower case and fully qualified. It returns false when qname is
// outside the zone.
func (z *zone) relative(qname string) (string, bool) {
	if z.name == "." {
		return strings.TrimSuffix(qname, "."), true
	}
	rest, ok := strings.CutSuffix(qname, z.name)
	if !ok || rest == "" {
		return "", ok
	}
	if rest[len(rest)-1] != '.' || escaped(rest) {
		return "", false
	}
	return rest[:len(rest)-1], true
}

// escaped reports whether the final dot of name is escaped and so belongs to its last label.
func escaped(name string) bool {
	odd := false
	for i := len(name) - 2; i >= 0 && name[i] == '\\'; i-- {
		odd = !odd
	}
	return odd
}

// find returns the kind and node of a name relative to the zone, and whether the name exists. Empty non-terminals have
// no node. In a reverse zone, the node is the target of the PTR record.
func (z *zone) find(relative string) (kind, *node, bool) {
	if z.reverse != nil {
		if relative == "" {
			n, _ := z.reverse.find(z.name)
			return apex, n, true
		}
		n, exists := z.reverse.find(join(relative, z.name))
		return pointer, n, exists
	}
	q := parseQuestion(relative)
	switch q.kind {
	case apex, version, nsParent, root:
		// svc exists even while it is empty. By RFC 8020, resolvers take an NXDOMAIN for everything below it,
		// including services created later.
		return q.kind, nil, true
	case nameserver:
		return q.kind, z.ns, true
	case namespace:
		return q.kind, nil, z.services.hasNamespace(q.namespace)
	case service:
		n, exists := z.services.find(q.service, q.rest)
		return q.kind, n, exists
	default:
		return q.kind, nil, false
	}
}

// mostSpecific returns the longest zone that contains qname, or nil, and qname relative to it.
func mostSpecific(zones []*zone, qname string) (found *zone, relative string) {
	for _, z := range zones {
		if found != nil && len(z.name) <= len(found.name) {
			continue
		}
		if rest, ok := z.relative(qname); ok {
			found, relative = z, rest
		}
	}
	return found, relative
}

func join(name, zone string) string {
	if zone == "." {
		return name + "."
	}
	return name + "." + zone
}
