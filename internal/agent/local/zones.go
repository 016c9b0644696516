package local

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
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

// StripNode leaves of a Node in a cache what Zones and Hosts read, and what a cache needs.
func StripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil // a note that one was deleted
	}
	stripped := &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: node.Name, UID: node.UID, ResourceVersion: node.ResourceVersion},
		Spec:       corev1.NodeSpec{PodCIDR: node.Spec.PodCIDR, PodCIDRs: node.Spec.PodCIDRs},
		Status:     corev1.NodeStatus{Addresses: node.Status.Addresses},
	}
	if zone, ok := node.Labels[corev1.LabelTopologyZone]; ok {
		stripped.Labels = map[string]string{corev1.LabelTopologyZone: zone}
	}
	return stripped, nil
}
