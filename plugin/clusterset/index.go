package clusterset

import (
	"cmp"
	"net"
	"slices"

	"github.com/miekg/dns"
)

// index holds the finished answers of a zone. Any number of goroutines may
// read; they take no locks, allocate nothing, and see each service either as it
// was or as it is now, never a mixture. One goroutine at a time may write.
type index struct {
	services   *table[answers] // by "<svc>.<ns>"
	namespaces *table[int]     // number of services
}

func newIndex() index { return index{newTable[answers](), newTable[int]()} }

// answers is everything that is known below and at one service's name. It never
// changes once it is in the index: a change of the service makes a new one, which
// may share nodes with it.
type answers struct {
	// self is the service's own name, which is in own; nil if that does not exist, as
	// for a headless service without ready endpoints.
	self *node
	// below is sorted by rest.
	below []entry
	// hosts are the names that addresses are turned back into: those of a headless
	// service's hosts, by rank, or the service's own.
	hosts []host
	// own and four are where the own name's node and, if it is one, IPv4 address stand:
	// what is asked for most shall be found in one place.
	own  node
	four [net.IPv4len]byte
}

// name makes the service's own name exist, with these records.
func (a *answers) name(own node) {
	if len(own.v4) == len(a.four) {
		a.four = [net.IPv4len]byte(own.v4)
		own.v4 = a.four[:]
	}
	a.own = own
	a.self = &a.own
}

// entry is a name below a service.
type entry struct {
	// rest is the name relative to the service.
	rest string
	// node is nil for a name without records, which exists because of names
	// below it.
	node *node
}

// host is a name with addresses, and its place among those of a service.
type host struct {
	rank uint64
	node *node
}

// node is a name and its records. Addresses are packed, 4 or 16 bytes each.
type node struct {
	// name is fully qualified.
	name   string
	v4, v6 []byte
	srv    []target
}

// target is what differs between the SRV records of one name.
type target struct {
	host *node
	port uint16
}

// find returns the node at rest below the service, and whether that name exists.
func (x *index) find(service, rest string) (*node, bool) {
	a := x.services.get(service)
	if a == nil {
		return nil, false
	}
	if rest == "" {
		return a.self, a.self != nil
	}
	i, ok := slices.BinarySearchFunc(a.below, rest, func(e entry, rest string) int {
		return cmp.Compare(e.rest, rest)
	})
	if !ok {
		return nil, false
	}
	return a.below[i].node, true
}

// hasNamespace reports whether there is a service in the namespace, even one
// that has no records just now.
func (x *index) hasNamespace(name string) bool { return x.namespaces.get(name) != nil }

// get returns the answers of a service; nil if there is none.
func (x *index) get(key serviceKey) *answers { return x.services.get(key.String()) }

// set replaces the answers of a service; nil takes the service away.
func (x *index) set(key serviceKey, a *answers) {
	name := key.String()
	had := x.services.get(name) != nil
	x.services.set(name, a)
	switch {
	case a != nil && !had:
		x.count(key.namespace, 1)
	case a == nil && had:
		x.count(key.namespace, -1)
	}
}

func (x *index) count(namespace string, by int) {
	n := by
	if old := x.namespaces.get(namespace); old != nil {
		n += *old
	}
	if n == 0 {
		x.namespaces.set(namespace, nil)
		return
	}
	x.namespaces.set(namespace, &n)
}

// count returns how many records of a type n has, of those that services have.
func (n *node) count(qtype uint16) int {
	switch {
	case n == nil:
		return 0
	case qtype == dns.TypeA:
		return len(n.v4) / net.IPv4len
	case qtype == dns.TypeAAAA:
		return len(n.v6) / net.IPv6len
	case qtype == dns.TypeSRV:
		return len(n.srv)
	default:
		return 0
	}
}
