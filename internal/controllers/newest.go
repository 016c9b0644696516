package controllers

import (
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Newest is what a controller knows of objects beyond its copy: what the API server has answered its own last write of each
// with. Who decides by a copy that does not show his own writes yet would write the same again, or leave
// standing what he has written since. The zero value knows of nothing.
type Newest[T client.Object] struct {
	mu      sync.Mutex
	known   map[types.NamespacedName]T
	deleted map[types.NamespacedName]types.UID
}

// Wrote notes an object as the API server has answered a write with it.
func (n *Newest[T]) Wrote(object T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.known == nil {
		n.known = map[types.NamespacedName]T{}
	}
	n.known[client.ObjectKeyFromObject(object)] = object.DeepCopyObject().(T)
}

// Deleted notes that the very object has been deleted by the caller.
func (n *Newest[T]) Deleted(object T) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.deleted == nil {
		n.deleted = map[types.NamespacedName]types.UID{}
	}
	key := client.ObjectKeyFromObject(object)
	delete(n.known, key)
	n.deleted[key] = object.GetUID()
}

// Gone tells whether the caller has deleted the very object, which the copy shows still.
func (n *Newest[T]) Gone(shown T) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	uid, found := n.deleted[client.ObjectKeyFromObject(shown)]
	return found && uid == shown.GetUID()
}

// Of returns the newest version that is known of an object, of which the copy shows one: that one, or a later one of the
// caller's own making, which is the caller's to change then.
func (n *Newest[T]) Of(shown T) T {
	n.mu.Lock()
	defer n.mu.Unlock()
	if order, comparable := n.compare(shown); comparable && order > 0 {
		return n.known[client.ObjectKeyFromObject(shown)].DeepCopyObject().(T)
	}
	return shown
}

// News tells whether what the copy shows is later than the caller's last write.
func (n *Newest[T]) News(shown T) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	order, comparable := n.compare(shown)
	return !comparable || order < 0
}

// compare compares the caller's last write with what is shown: above 0 is that it is the later one. They can't be compared
// where there is none, or it was of another object. It is called with mu held.
func (n *Newest[T]) compare(shown T) (order int, comparable bool) {
	known, found := n.known[client.ObjectKeyFromObject(shown)]
	if !found || known.GetUID() != shown.GetUID() {
		return 0, false
	}
	order, err := resourceversion.CompareResourceVersion(known.GetResourceVersion(), shown.GetResourceVersion())
	return order, err == nil
}

// Forget is called when the copy has no such object. It tells whether the caller has written one, of which this is not
// known any more then: the copy may not show it yet, or somebody else has deleted it.
func (n *Newest[T]) Forget(key types.NamespacedName) (written bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_, written = n.known[key]
	delete(n.known, key)
	delete(n.deleted, key)
	return written
}
