package clusterset

import "strings"

// zone is a zone that the plugin is authoritative for, with its answers.
type zone struct {
	// name is in lower case and ends in a dot.
	name     string
	services index
	builder  *builder
	// reverse is set for a reverse zone, which has no services.
	reverse *reverse
	// hostmaster and ns are the names in the SOA record; ns, with the server's
	// own addresses, is also the target of the NS record.
	hostmaster string
	ns         *node
}

// newZone returns the zone of that name, lower case and fully qualified, without
// any service in it.
func newZone(name string) *zone {
	return &zone{
		name:       name,
		services:   newIndex(),
		builder:    newBuilder(name),
		hostmaster: join("hostmaster", name),
		ns:         &node{name: join("ns.dns", name)},
	}
}

// newPointerZone returns a reverse zone, in which addresses have names. Its server is that
// of another zone.
func newPointerZone(name string, names *reverse, of *zone) *zone {
	return &zone{name: name, hostmaster: of.hostmaster, ns: of.ns, reverse: names}
}

// relative cuts the zone from qname, which is in lower case and fully qualified.
// It returns false when qname is not in the zone.
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

// escaped reports whether the dot at the end of name belongs to its last label.
func escaped(name string) bool {
	odd := false
	for i := len(name) - 2; i >= 0 && name[i] == '\\'; i-- {
		odd = !odd
	}
	return odd
}

// find returns what a name stands for, relative to the zone, its node, and whether it
// exists. A name that exists only because others do below it has no node. For an address
// in a reverse zone the node is that of the name which it has.
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
		// svc exists even while it is empty: an NXDOMAIN would deny everything
		// below it to resolvers that follow RFC 8020, also what comes next.
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

// mostSpecific returns the zone that qname is in, the longest where one is
// within another, and qname relative to it; or nil.
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

// join puts name in front of a zone.
func join(name, zone string) string {
	if zone == "." {
		return name + "."
	}
	return name + "." + zone
}
