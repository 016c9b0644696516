package service

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// renameDelay is the longest time that a Service waits for its slices to have the new name of a port.
const renameDelay = 5 * time.Second

// renamedPorts returns the new names of ports by their old names.
func renamedPorts(have, want *corev1.Service) map[string]string {
	renamed := map[string]string{}
	for _, before := range have.Spec.Ports {
		for _, now := range want.Spec.Ports {
			if now.Port == before.Port && now.Protocol == before.Protocol && now.Name != before.Name {
				renamed[before.Name] = now.Name
			}
		}
	}
	return renamed
}

// lackNames reports whether a slice of an import has an old name of a port and not the new one. kube-proxy finds a port's
// endpoints by its name: there would be none until the slice has the name.
func (r *Reconciler) lackNames(ctx context.Context, imp types.NamespacedName, renamed map[string]string) (bool, error) {
	all, err := r.cluster.Imported(ctx, imp)
	if err != nil {
		return false, fmt.Errorf("listing the EndpointSlices of ServiceImport %s: %w", imp, err)
	}
	for _, s := range all {
		has := func(name string) bool {
			return slices.ContainsFunc(s.Ports, func(p discoveryv1.EndpointPort) bool { return ptr.Deref(p.Name, "") == name })
		}
		for before, now := range renamed {
			if has(before) && !has(now) {
				return true, nil
			}
		}
	}
	return false, nil
}
