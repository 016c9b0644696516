package dnswiring

import (
	"errors"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// serverName identifies our entry in spec.servers.
const serverName = "atoll"

const openShiftObject = "dns.operator.openshift.io default"

func installOpenShift(c Cluster, w Wiring) (Change, error) {
	if c.OpenShift == nil {
		return Change{}, fmt.Errorf("there is no %s in this cluster", openShiftObject)
	}
	servers, found, err := openShiftServers(c.OpenShift)
	if err != nil {
		return Change{}, err
	}
	old, err := recordOf(c.OpenShift)
	if err != nil {
		return Change{}, err
	}
	if old == nil {
		old = &record{}
		if !found {
			old.Made = []string{"servers"}
		}
		if named(servers) >= 0 {
			return Change{}, fmt.Errorf("%s has a server %s that Atoll did not write: rename the server", openShiftObject, serverName)
		}
	}
	if w.ReplaceLighthouse {
		if servers, err = withoutLighthouseServers(servers, w); err != nil {
			return Change{}, fmt.Errorf("%s: %w", openShiftObject, err)
		}
	}
	if err := serversClaimed(servers, w.Zones); err != nil {
		return Change{}, err
	}
	after := c.OpenShift.DeepCopy()
	if servers, err = withServer(servers, w); err == nil {
		err = unstructured.SetNestedSlice(after.Object, servers, "spec", "servers")
	}
	if err != nil {
		return Change{}, fmt.Errorf("%s: %w", openShiftObject, err)
	}
	record{Zones: w.Zones, Made: old.Made}.write(after)
	change := changed(c.OpenShift, after)
	for _, s := range servers {
		name, _, _ := unstructured.NestedString(asMap(s), "name")
		served, _, _ := unstructured.NestedStringSlice(asMap(s), "zones")
		change.Warnings = append(change.Warnings, belowNotes(fmt.Sprintf("the server %q", name), served, w.Zones)...)
	}
	if state, _, _ := unstructured.NestedString(c.OpenShift.Object, "spec", "managementState"); state != "" && state != "Managed" && state != "Force" {
		change.Warnings = append(change.Warnings, fmt.Sprintf("%s has managementState %s: the DNS operator ignores changes until managementState is Managed", openShiftObject, state))
	}
	return change, nil
}

func uninstallOpenShift(c Cluster) (Change, error) {
	if c.OpenShift == nil {
		return Change{}, nil
	}
	old, err := recordOf(c.OpenShift)
	if err != nil || old == nil {
		return Change{}, err
	}
	servers, _, err := openShiftServers(c.OpenShift)
	if err != nil {
		return Change{}, err
	}
	after := c.OpenShift.DeepCopy()
	forget(after)
	if i := named(servers); i >= 0 {
		servers = slices.Delete(slices.Clone(servers), i, i+1)
		if len(servers) == 0 && slices.Contains(old.Made, "servers") {
			unstructured.RemoveNestedField(after.Object, "spec", "servers")
		} else if err := unstructured.SetNestedSlice(after.Object, servers, "spec", "servers"); err != nil {
			return Change{}, fmt.Errorf("%s: %w", openShiftObject, err)
		}
	}
	return changed(c.OpenShift, after), nil
}

// openShiftServers returns spec.servers; found is false if the field is missing.
func openShiftServers(o *unstructured.Unstructured) (servers []any, found bool, err error) {
	servers, found, err = unstructured.NestedSlice(o.Object, "spec", "servers")
	if err != nil {
		return nil, false, fmt.Errorf("%s: %w", openShiftObject, err)
	}
	return servers, found, nil
}

// named returns the index of our entry.
func named(servers []any) int {
	return slices.IndexFunc(servers, func(s any) bool {
		name, _, _ := unstructured.NestedString(asMap(s), "name")
		return name == serverName
	})
}

func asMap(o any) map[string]any {
	m, _ := o.(map[string]any)
	return m
}

func serversClaimed(servers []any, zones []string) error {
	for _, s := range servers {
		name, _, _ := unstructured.NestedString(asMap(s), "name")
		served, _, _ := unstructured.NestedStringSlice(asMap(s), "zones")
		for _, zone := range served {
			if zone := corefile.Zone(zone); name != serverName && takes(zone, zones) {
				return &ClaimedError{Zone: zone, By: fmt.Sprintf("the server %q", name), Object: openShiftObject, Lighthouse: name == lighthouseServer}
			}
		}
	}
	return nil
}

// withServer adds our entry at the end, or updates only zones and addresses of an existing one, because users may have
// changed the rest.
func withServer(servers []any, w Wiring) ([]any, error) {
	i := named(servers)
	if i < 0 {
		i = len(servers)
		servers = append(servers, map[string]any{"name": serverName, "forwardPlugin": map[string]any{"policy": "Random"}})
	}
	return servers, errors.Join(
		unstructured.SetNestedStringSlice(asMap(servers[i]), w.Zones, "zones"),
		unstructured.SetNestedStringSlice(asMap(servers[i]), w.servers(), "forwardPlugin", "upstreams"),
	)
}
