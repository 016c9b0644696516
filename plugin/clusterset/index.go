package clusterset

import (
	"cmp"
	"slices"
	"sync"
)

// index holds the finished answers of a zone. Any number of goroutines may
// read; they take no locks, allocate nothing, and see each service either as it
// was or as it is now, never a mixture. One goroutine at a time may write.
type index struct {
	services   sync.Map // "<svc>.<ns>" -> *answers
	namespaces sync.Map // namespace -> number of services in it
}

// answers is everything that is known below and at one service's name. It never
// changes once it is in the index: a change of the service makes a new one.
type answers struct {
	// self is the service's own name; nil if that does not exist, as for a
	// headless service without ready endpoints.
	self *node
	// below is sorted by rest.
	below []entry
}

// entry is a name below a service.
type entry struct {
	// rest is the name relative to the service.
	rest string
	// node is nil for a name without records, which exists because of names
	// below it.
	node *node
}

// node is a name and its records. Addresses are packed, 4 or 16 bytes each, and
// sorted.
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
	v, ok := x.services.Load(service)
	if !ok {
		return nil, false
	}
	a := v.(*answers)
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
func (x *index) hasNamespace(name string) bool {
	_, ok := x.namespaces.Load(name)
	return ok
}

// set replaces the answers of a service; nil takes the service away.
func (x *index) set(key serviceKey, a *answers) {
	_, had := x.services.Load(key.String())
	switch {
	case a == nil && had:
		x.services.Delete(key.String())
		x.count(key.namespace, -1)
	case a != nil:
		x.services.Store(key.String(), a)
		if !had {
			x.count(key.namespace, 1)
		}
	}
}

func (x *index) count(namespace string, by int) {
	n := by
	if old, ok := x.namespaces.Load(namespace); ok {
		n += old.(int)
	}
	if n == 0 {
		x.namespaces.Delete(namespace)
		return
	}
	x.namespaces.Store(namespace, n)
}
