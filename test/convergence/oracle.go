package convergence

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// The oracle computes the expected state from the users' objects, according to the
// Multi-Cluster Services API. It does not know which faults happened. For merging and for the
// contribution of an export it uses Atoll's pure packages, which have their own tests.

// families are the IP families of all clusters' Services.
var families = []corev1.IPFamily{corev1.IPv4Protocol}

// truth is the expected state across clusters.
type truth struct {
	world     *world
	permitted permissions.Members
	config    map[string]string                        // the permissions as the administrator wrote them
	advised   map[string]map[types.NamespacedName]wish // what policies for ServiceExports ask for, by exporting cluster
	policies  map[types.NamespacedName]*brokerv1alpha1.ServicePolicySpec
	records   map[types.NamespacedName][]merge.Export // of valid and permitted exports, including exports for the hub only
	refused   *cluster                                // cluster whose writes the broker refuses, or nil
	byPolicy  map[string]int                          // number of ServiceExports that each cluster's agent has created
}

// truth computes the expected state, without the objects of one cluster unless that cluster is
// nil.
func (w *world) truth(ctx context.Context, without *cluster) (*truth, error) {
	t := &truth{world: w, records: map[types.NamespacedName][]merge.Export{}, byPolicy: map[string]int{}, advised: map[string]map[types.NamespacedName]wish{}}
	config := made.Permissions(nil)
	if err := w.admin.Get(ctx, keyOf(config), config); client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	t.permitted, _ = permissions.Read(config)
	t.config = config.Data
	var err error
	if t.policies, err = w.policies(ctx); err != nil {
		return nil, err
	}
	for _, c := range w.clusters {
		if c == without {
			continue
		}
		t.advised[c.id.String()] = c.users.advises()
		found, err := list(ctx, c.admin, &mcsv1beta1.ServiceExportList{})
		if err != nil {
			return nil, err
		}
		for i := range found.Items {
			export := &found.Items[i]
			key := keyOf(export)
			if c.users.exports[key] == nil {
				if !c.exportsByPolicy(key, t.policies[key]) {
					continue
				}
				t.byPolicy[c.id.String()]++
			}
			if spec, some := t.contribution(c, export); some {
				t.records[key] = append(t.records[key], spec)
			}
		}
	}
	return t, nil
}

// contribution returns the record of a cluster's export. some is false if the export
// contributes nothing.
func (t *truth) contribution(c *cluster, export *mcsv1beta1.ServiceExport) (spec merge.Export, some bool) {
	key := keyOf(export)
	service, policy := c.users.services[key], t.policies[key]
	if !t.validity(c, export, service).Valid {
		return spec, false
	}
	spec, _ = contribution.Of(c.id, families, export, service, policy)
	spec.Drained = c.users.drained(export)
	if want, found := c.users.wishes[forExport(key)]; found {
		spec.Preference = ptr.To(want.preference())
	}
	return policy.Restrict(spec)
}

func (t *truth) validity(c *cluster, export *mcsv1beta1.ServiceExport, service *corev1.Service) contribution.Validity {
	validity := contribution.Validate(service)
	if validity.Valid && !t.permitted.MayExport(c.id, export.Namespace) {
		return contribution.NotPermitted(c.id, brokerpkg.DefaultNamespace, export.Namespace)
	}
	return validity
}

// merged returns the exports of a service that are merged. Exports for the hub only are not.
func (t *truth) merged(service types.NamespacedName) []merge.Export {
	var all []merge.Export
	for _, e := range t.records[service] {
		if restricted, some := t.policies[service].Restrict(e); some && e.Scope != brokerv1alpha1.ScopeHub {
			all = append(all, restricted)
		}
	}
	return all
}

// imports returns the exports of a service that a cluster imports.
func (t *truth) imports(c *cluster, service types.NamespacedName) []merge.Export {
	if !c.users.namespaces[service.Namespace] || !t.policies[service].Consumes(c.id.String()) {
		return nil
	}
	return slices.DeleteFunc(c.weighing(service, t.merged(service)), func(e merge.Export) bool { return !e.Consumes(c.id.String()) })
}

func (w *world) cluster(id string) *cluster {
	return w.clusters[slices.IndexFunc(w.clusters, func(c *cluster) bool { return c.id.String() == id })]
}

// longMessage is the length from which messages are truncated.
const longMessage = 900

// conditions returns the expected conditions of a ServiceExport. The oracle does not check all
// messages.
func (t *truth) conditions(c *cluster, export *mcsv1beta1.ServiceExport, service *corev1.Service) []metav1.Condition {
	verdict := t.validity(c, export, service)
	valid := metav1.Condition{Type: "Valid", Status: metav1.ConditionFalse, Reason: string(verdict.Reason)}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Pending"}
	conflict := metav1.Condition{Type: "Conflict", Status: metav1.ConditionFalse, Reason: "NoConflicts", Message: "All clusters that export this service agree on its properties."}
	if verdict.Valid {
		valid.Status = metav1.ConditionTrue
	}
	if _, some := t.contribution(c, export); some {
		if ready.Status, ready.Reason = metav1.ConditionTrue, "Exported"; t.refused == c {
			ready.Status, ready.Reason = metav1.ConditionFalse, "Failed"
		}
		var reasons, messages []string
		if exports := c.weighing(keyOf(export), t.merged(keyOf(export))); len(exports) > 0 {
			for _, c := range merge.Resolve(exports).Conflicts {
				reasons, messages = append(reasons, string(c.Reason)), append(messages, c.Message)
			}
		}
		if len(reasons) > 0 {
			conflict.Status, conflict.Reason, conflict.Message = metav1.ConditionTrue, strings.Join(reasons, ","), strings.Join(messages, " ")
			if len(conflict.Message) > longMessage {
				conflict.Message = ""
			}
		}
	}
	all := []metav1.Condition{valid, ready, conflict}
	for i := range all {
		all[i].ObservedGeneration = export.Generation
	}
	return all
}

// source is the expected content of an imported slice, from one EndpointSlice of the exporting
// cluster.
type source struct {
	Addresses discoveryv1.AddressType
	Ports     string
	Endpoints []string // sorted
}

// published returns the sources of an exported service on the broker, by slice name.
func (c *cluster) published(export merge.Export) map[string]source {
	all := map[string]source{}
	service := export.Service()
	restricted := len(export.Ports) < len(c.users.services[service].Spec.Ports)
	for _, s := range c.addresses(service) {
		of := source{Addresses: s.AddressType, Ports: writePorts(slices.DeleteFunc(slices.Clone(s.Ports), func(p discoveryv1.EndpointPort) bool {
			return restricted && !slices.ContainsFunc(export.Ports, func(q mcsv1beta1.ServicePort) bool { return q.Name == *p.Name && q.Protocol == *p.Protocol })
		}))}
		for _, e := range usable(s) {
			of.Endpoints = append(of.Endpoints, writeEndpoint(foreign(e)))
		}
		slices.Sort(of.Endpoints)
		all[s.Name] = of
	}
	return all
}

// addresses returns the slices of a service except FQDN slices.
func (c *cluster) addresses(service types.NamespacedName) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(c.users.slicesOf(service), func(s *discoveryv1.EndpointSlice) bool { return s.AddressType == discoveryv1.AddressTypeFQDN })
}

// foreign clears the node and the pod of an endpoint, which mean nothing in another cluster.
func foreign(e discoveryv1.Endpoint) discoveryv1.Endpoint {
	e.NodeName, e.TargetRef = nil, nil
	return e
}

// usable returns a slice's endpoints without loopback addresses, which no cluster imports, the
// exporting cluster included.
func usable(s *discoveryv1.EndpointSlice) []discoveryv1.Endpoint {
	return slices.DeleteFunc(slices.Clone(s.Endpoints), func(e discoveryv1.Endpoint) bool { return strings.HasPrefix(e.Addresses[0], "127.") })
}

// weighing returns the exports that a cluster considers.
func (c *cluster) weighing(service types.NamespacedName, exports []merge.Export) []merge.Export {
	if service.Namespace != systemNamespace || c.users.open {
		return exports
	}
	return slices.DeleteFunc(slices.Clone(exports), func(e merge.Export) bool { return e.ClusterID != c.id.String() })
}

// imported computes the sources of one cluster's part of an import.
func (c *cluster) imported(imp *mcsv1beta1.ServiceImport, from *cluster, export merge.Export) map[string]source {
	all := map[string]source{}
	unserved := func(s *discoveryv1.EndpointSlice) bool { return s.AddressType != discoveryv1.AddressTypeIPv4 }
	addresses := from.addresses(types.NamespacedName{Namespace: imp.Namespace, Name: imp.Name})
	if from == c {
		addresses = slices.DeleteFunc(addresses, unserved) // other clusters publish slices of all families
	}
	for _, s := range slices.DeleteFunc(addresses, unserved) {
		of := source{Addresses: s.AddressType, Ports: writePorts(portsOf(s.Ports, imp, export))}
		for _, e := range usable(s) {
			switch {
			case from == c:
				of.Endpoints = append(of.Endpoints, writeEndpoint(e))
			case c.admits(from, e):
				of.Endpoints = append(of.Endpoints, writeEndpoint(foreign(e)))
			}
		}
		slices.Sort(of.Endpoints)
		all[s.Name] = of
	}
	return all
}

// admits reports whether an endpoint may belong to another cluster.
func (c *cluster) admits(from *cluster, e discoveryv1.Endpoint) bool {
	address, err := netip.ParseAddr(e.Addresses[0])
	return err == nil && c.network.Admits(from.id, address)
}

// portsOf returns a slice's ports that belong to ports of the import, by the number that the cluster exports. The ports have the
// names of the derived Service.
func portsOf(of []discoveryv1.EndpointPort, imp *mcsv1beta1.ServiceImport, export merge.Export) []discoveryv1.EndpointPort {
	var all []discoveryv1.EndpointPort
	called := derived.PortNames(imp.Spec.Ports)
	for _, p := range of {
		for i, want := range imp.Spec.Ports {
			same := func(q mcsv1beta1.ServicePort) bool {
				return q.Name == *p.Name && q.Protocol == *p.Protocol && q.Port == want.Port
			}
			if want.Protocol != *p.Protocol || !slices.ContainsFunc(export.Ports, same) {
				continue
			}
			p := p // the next port of the import looks for the same name
			p.Name = &want.Name
			all = append(all, p)
			if name := called[i]; imp.Spec.Type == mcsv1beta1.ClusterSetIP && name != *p.Name {
				if slices.Contains(called, *p.Name) {
					all = all[:len(all)-1]
				}
				p.Name = &name
				all = append(all, p)
			}
		}
	}
	return all
}

func writePorts(all []discoveryv1.EndpointPort) string {
	var texts []string
	for _, p := range all {
		texts = append(texts, fmt.Sprintf("%s:%d/%s %s", ptr.Deref(p.Name, "-"), ptr.Deref(p.Port, -1), ptr.Deref(p.Protocol, "-"), ptr.Deref(p.AppProtocol, "-")))
	}
	slices.Sort(texts)
	return strings.Join(texts, ", ")
}

// writeEndpoint formats an endpoint without its hints. An unknown readiness means ready.
func writeEndpoint(e discoveryv1.Endpoint) string {
	return fmt.Sprintf("%v ready=%s serving=%s terminating=%s host=%s zone=%s node=%s pod=%s", e.Addresses,
		fmt.Sprint(ptr.Deref(e.Conditions.Ready, true)), writeBool(e.Conditions.Serving), writeBool(e.Conditions.Terminating), ptr.Deref(e.Hostname, "-"), ptr.Deref(e.Zone, "-"),
		ptr.Deref(e.NodeName, "-"), cmp.Or(ptr.Deref(e.TargetRef, corev1.ObjectReference{}).Name, "-"))
}

func writeBool(b *bool) string {
	if b == nil {
		return "-"
	}
	return fmt.Sprint(*b)
}
