package local

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Zones are the zones in which the cluster has Nodes, as events tell. The zero value is
// of no Nodes.
type Zones struct {
	mu     sync.Mutex
	byNode map[string]string
	sorted []string
}

// Put notes a Node that appeared or changed, and returns whether that changes the zones.
func (z *Zones) Put(node metav1.Object) (changed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	zone := node.GetLabels()[corev1.LabelTopologyZone]
	if before, known := z.byNode[node.GetName()]; known && before == zone {
		return false
	}
	if z.byNode == nil {
		z.byNode = map[string]string{}
	}
	z.byNode[node.GetName()] = zone
	return z.sort()
}

// Remove notes a Node that went, and returns whether that changes the zones.
func (z *Zones) Remove(node metav1.Object) (changed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.byNode, node.GetName())
	return z.sort()
}

// Sorted returns the zones, sorted. The result must not be changed.
func (z *Zones) Sorted() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.sorted
}

// sort is called with mu held.
func (z *Zones) sort() (changed bool) {
	named := slices.DeleteFunc(slices.Collect(maps.Values(z.byNode)), func(zone string) bool { return zone == "" })
	slices.Sort(named)
	named = slices.Compact(named)
	changed = !slices.Equal(named, z.sorted)
	z.sorted = named
	return changed
}

// StripNode leaves of a Node in a cache what Zones read, and what a cache needs.
func StripNode(object any) (any, error) {
	node, err := meta.Accessor(object)
	if err != nil {
		return object, nil // not a Node, but a note that one was deleted
	}
	labels := map[string]string{}
	if zone, ok := node.GetLabels()[corev1.LabelTopologyZone]; ok {
		labels[corev1.LabelTopologyZone] = zone
	}
	node.SetLabels(labels)
	node.SetAnnotations(nil)
	node.SetManagedFields(nil)
	return object, nil
}
