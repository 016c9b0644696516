package clusterset

import (
	"cmp"
	"net"
	"slices"

	"github.com/miekg/dns"
)

// index holds the finished answers of a zone. Any number of goroutines may read, without locks or allocations, and see
// each service before or after a change. Only one goroutine may write at a time.
type index struct {
	services   *table[answers] // by "<svc>.<ns>"
	namespaces *table[int]     // number of services by namespace
}

func newIndex() index { return index{newTable[answers](), newTable[int]()} }

// answers are the names at and below one service. They are immutable in the index; a change creates new answers, which
// may share nodes.
type answers struct {
	// self points to own. It is nil if the service's name does not exist, as for a headless service without ready
	// endpoints.
	self *node
	// below is sorted by rest.
	below []entry
	// hosts are the targets of PTR records: the hosts of a headless service by rank, or the service's own name.
	hosts []host
	// own and four hold the own name's node and its single IPv4 address in place, for cache locality of the most
	// frequent query.
	own  node
	four [net.IPv4len]byte
}

// name sets the service's own name with these records.
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
	// node is nil for an empty non-terminal, a name that only has names below it.
	node *node
}

// host is a name with addresses and its rank in the service.
type host struct {
	rank uint64
	node *node
}

// node is a name with its records. Addresses are packed, 4 or 16 bytes each.
type node struct {
	// name is fully qualified.
	name   string
	v4, v6 []byte
	srv    []target
}

// target is the variable part of an SRV record.
type target struct {
	host *node
	port uint16
}

// find returns the node at rest below the service, and whether the name exists.
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

// hasNamespace reports whether the namespace has a service, even one without records.
func (x *index) hasNamespace(name string) bool { return x.namespaces.get(name) != nil }

// get returns the answers of a service; nil if there is none.
func (x *index) get(key serviceKey) *answers { return x.services.get(key.String()) }

// set replaces the answers of a service; nil deletes it.
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

// count returns the number of records of a type.
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
