package local

import (
	"maps"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Zones are the zones of the cluster's Nodes. The zero value has no Nodes.
type Zones struct {
	mu     sync.Mutex
	byNode map[string]string
	sorted []string
}

// Put records a Node that was added or changed, and returns whether the zones changed.
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

// Remove records a deleted Node, and returns whether the zones changed.
func (z *Zones) Remove(node metav1.Object) (changed bool) {
	z.mu.Lock()
	defer z.mu.Unlock()
	delete(z.byNode, node.GetName())
	return z.sort()
}

// Sorted returns the zones, sorted. Callers must not change the result.
func (z *Zones) Sorted() []string {
	z.mu.Lock()
	defer z.mu.Unlock()
	return z.sorted
}

// sort updates the sorted zones, and returns whether they changed. The caller holds mu.
func (z *Zones) sort() (changed bool) {
	named := slices.DeleteFunc(slices.Collect(maps.Values(z.byNode)), func(zone string) bool { return zone == "" })
	slices.Sort(named)
	named = slices.Compact(named)
	changed = !slices.Equal(named, z.sorted)
	z.sorted = named
	return changed
}

// StripNode reduces a cached Node to the fields that Zones, Hosts and the cache read.
func StripNode(object any) (any, error) {
	node, ok := object.(*corev1.Node)
	if !ok {
		return object, nil // a tombstone (cache.DeletedFinalStateUnknown)
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
