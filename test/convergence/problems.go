package convergence

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	gocmp "github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/topology"
)

// findings collects deviations from the expected state.
type findings struct {
	where string
	all   []string
}

func (f *findings) add(format string, args ...any) {
	f.all = append(f.all, f.where+": "+fmt.Sprintf(format, args...))
}

// same adds a finding if the values differ.
func (f *findings) same(what string, have, want any) {
	if !equality.Semantic.DeepEqual(have, want) {
		f.add("%s differs (-want +have):\n%s", what, gocmp.Diff(want, have))
	}
}

// problems returns all deviations from the expected state.
func (w *world) problems(ctx context.Context) ([]string, error) {
	t, err := w.truth(ctx, w.removed)
	if err != nil {
		return nil, err
	}
	kept := t // a removed member keeps its imports
	if w.removed != nil {
		if kept, err = w.truth(ctx, nil); err != nil {
			return nil, err
		}
		if w.removed.agents[0].life.Err() == nil {
			kept.refused = w.removed
		}
	}
	w.right = 0
	all := &findings{where: "broker"}
	if err := errors.Join(w.brokerProblems(ctx, all, t.records), w.catalogueProblems(ctx, all, t), w.exposureProblems(ctx, all, t)); err != nil {
		return nil, err
	}
	for _, c := range w.clusters {
		all.where, c.network.Allowed = c.id.String(), t.permitted.RangesOf
		of := t
		if c == w.removed {
			of = kept
		}
		if err := w.clusterProblems(ctx, all, c, of); err != nil {
			return nil, err
		}
	}
	return all.all, nil
}

func list[T client.ObjectList](ctx context.Context, c client.Client, into T, opts ...client.ListOption) (T, error) {
	err := c.List(ctx, into, opts...)
	return into, err
}

func keyOf(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }

func sorted[V any](m map[types.NamespacedName]V) []types.NamespacedName {
	return slices.SortedFunc(maps.Keys(m), func(a, b types.NamespacedName) int { return strings.Compare(a.String(), b.String()) })
}

// brokerProblems checks the records, the endpoints, the catalogue and the members.
func (w *world) brokerProblems(ctx context.Context, f *findings, exports map[types.NamespacedName][]merge.Export) error {
	records, err := list(ctx, w.admin, &brokerv1alpha1.ExportedServiceList{})
	if err != nil {
		return err
	}
	have := map[string]merge.Export{}
	for _, r := range records.Items {
		if !layout.Withdrawn(&r) {
			have[r.Name] = r.Spec
		}
	}
	published, err := list(ctx, w.admin, &discoveryv1.EndpointSliceList{})
	if err != nil {
		return err
	}
	parts := partsOf(slices.DeleteFunc(published.Items, func(s discoveryv1.EndpointSlice) bool { return layout.Withdrawn(&s) }), names.LabelServiceNamespace)
	for _, service := range sorted(exports) {
		for _, e := range exports[service] {
			id := names.ClusterID(e.ClusterID)
			name := names.Export(id, service.Namespace, service.Name)
			f.same("record "+name, have[name], e)
			delete(have, name)
			part := part{service, e.ClusterID}
			f.compare(part, parts[part], w.cluster(e.ClusterID).published(e), func(source string) string {
				return names.BrokerSlice(id, service.Namespace, source)
			})
			delete(parts, part)
		}
	}
	for name := range have {
		f.add("record %s should not be there", name)
	}
	for part, slices := range parts {
		f.add("%d slices of %v should not be there", len(slices), part)
	}
	members, err := list(ctx, w.admin, &brokerv1alpha1.MemberClusterList{})
	if err != nil {
		return err
	}
	leases, err := list(ctx, w.admin, &coordinationv1.LeaseList{})
	if err != nil {
		return err
	}
	heartbeats := len(w.clusters)
	if w.hub != nil {
		heartbeats++
	}
	if w.removed != nil {
		heartbeats--
	}
	for _, m := range members.Items {
		if removed := w.removed != nil && m.Name == w.removed.id.String(); m.Removed() != removed {
			f.add("member %s: removed is %t", m.Name, m.Removed())
		}
	}
	if len(members.Items) != len(w.clusters) || len(leases.Items) != heartbeats {
		f.add("%d members and %d leases of %d and %d", len(members.Items), len(leases.Items), len(w.clusters), heartbeats)
	}
	return nil
}

func (w *world) catalogueProblems(ctx context.Context, f *findings, t *truth) error {
	catalogue, err := list(ctx, w.admin, &mcsv1beta1.ServiceImportList{})
	if err != nil {
		return err
	}
	entries := map[string]*mcsv1beta1.ServiceImport{}
	for i := range catalogue.Items {
		entries[catalogue.Items[i].Name] = &catalogue.Items[i]
	}
	for _, service := range sorted(t.records) {
		exports := slices.DeleteFunc(slices.Clone(t.records[service]), func(e merge.Export) bool { return e.Scope == brokerv1alpha1.ScopeHub })
		if len(exports) == 0 {
			continue
		}
		name := names.CatalogueEntry(service.Namespace, service.Name)
		entry := entries[name]
		delete(entries, name)
		if entry == nil {
			f.add("the catalogue has no entry %s", name)
			continue
		}
		want := merge.Resolve(exports)
		f.same("the catalogue's entry "+name, entry.Spec, want.Spec)
		f.same("clusters of the catalogue's entry "+name, clustersOf(entry), want.Clusters)
	}
	for name := range entries {
		f.add("the catalogue's entry %s should not be there", name)
	}
	return nil
}

func clustersOf(imp *mcsv1beta1.ServiceImport) []string {
	var ids []string
	for _, c := range imp.Status.Clusters {
		ids = append(ids, c.Cluster)
	}
	return ids
}

// clusterProblems looks at everything of Atoll's in a cluster, and whether users' objects are
// theirs still.
func (w *world) clusterProblems(ctx context.Context, f *findings, c *cluster, t *truth) error {
	imports, err := list(ctx, c.admin, &mcsv1beta1.ServiceImportList{})
	if err != nil {
		return err
	}
	services, err := list(ctx, c.admin, &corev1.ServiceList{})
	if err != nil {
		return err
	}
	slices, err := list(ctx, c.admin, &discoveryv1.EndpointSliceList{})
	if err != nil {
		return err
	}
	derivedServices := map[types.NamespacedName]*corev1.Service{}
	for _, s := range usersOwn(f, services.Items, c.users.services) {
		if s.Namespace != metav1.NamespaceDefault { // the API server's own
			derivedServices[keyOf(&s)] = &s
		}
	}
	ours := usersOwn(f, slices.Items, c.users.slices)
	if err := c.exportProblems(ctx, f, derivedServices, t); err != nil {
		return err
	}
	have := map[types.NamespacedName]*mcsv1beta1.ServiceImport{}
	for i := range imports.Items {
		have[keyOf(&imports.Items[i])] = &imports.Items[i]
	}
	parts := partsOf(ours, "")
	for _, service := range sorted(t.records) {
		exports := t.imports(c, service)
		if len(exports) == 0 {
			continue
		}
		w.right++
		imp := have[service]
		delete(have, service)
		if imp == nil {
			f.add("%s is not imported", service)
			continue
		}
		w.importProblems(f, c, imp, t, exports, derivedServices, parts)
	}
	for service := range have {
		f.add("import %s should not be there", service)
	}
	for service := range derivedServices {
		f.add("Service %s should not be there", service)
	}
	for part, slices := range parts {
		f.add("%d slices of %v should not be there", len(slices), part)
	}
	lost := &corev1.ConfigMap{}
	if err := c.admin.Get(ctx, types.NamespacedName{Namespace: names.SystemNamespace, Name: names.LostClusters}, lost); client.IgnoreNotFound(err) != nil {
		return err
	}
	f.same("what is taken for lost", keysOf(lost.Data), w.lostKeys(c))
	w.dnsProblems(f, c, imports.Items, ours)
	if c == w.removed {
		return nil // it does not know the other clusters any more
	}
	return w.policyProblems(ctx, f, c, t)
}

// usersOwn checks that the users' objects are unchanged, and returns all other objects.
func usersOwn[T any, P interface {
	*T
	client.Object
}](f *findings, all []T, users map[types.NamespacedName]P) (others []T) {
	found := 0
	for i := range all {
		switch have, want := P(&all[i]), users[keyOf(P(&all[i]))]; {
		case want == nil:
			others = append(others, all[i])
		case have.GetResourceVersion() != want.GetResourceVersion():
			f.add("%T %s of a user's has been written", have, keyOf(have))
		default:
			found++
		}
	}
	if found != len(users) {
		f.add("%d of %d objects of users' are there as they left them: %T", found, len(users), all)
	}
	return others
}

// exportProblems checks ServiceExports and their conditions.
func (c *cluster) exportProblems(ctx context.Context, f *findings, others map[types.NamespacedName]*corev1.Service, t *truth) error {
	have, err := list(ctx, c.admin, &mcsv1beta1.ServiceExportList{})
	if err != nil {
		return err
	}
	if want := len(c.users.exports) + t.byPolicy[c.id.String()]; len(have.Items) != want {
		f.add("%d ServiceExports of %d", len(have.Items), want)
	}
	for key, policy := range t.policies {
		if c.exportsByPolicy(key, policy) && !slices.ContainsFunc(have.Items, func(e mcsv1beta1.ServiceExport) bool { return keyOf(&e) == key }) {
			f.add("no ServiceExport for MultiClusterService %s", key)
		}
	}
	for i := range have.Items {
		e := &have.Items[i]
		want := c.users.exports[keyOf(e)]
		if want != nil && (want.UID != e.UID || want.Generation != e.Generation) || want == nil != contribution.ByPolicy(e) {
			f.add("ServiceExport %s is not as its user left it", keyOf(e))
			continue
		}
		service := c.users.services[keyOf(e)]
		if service == nil {
			service = others[keyOf(e)] // users may export a derived Service
		}
		for _, want := range t.conditions(c, e, service) {
			have := meta.FindStatusCondition(e.Status.Conditions, want.Type)
			if want.Type == "Ready" && c.broker.isCut() && have != nil && strings.Contains(have.Message, "did not reach the broker") {
				continue // an agent may have something to write, such as the deletion of a withdrawn record
			}
			if have != nil && want.Reason == "Failed" && have.Status == metav1.ConditionUnknown && have.Reason == "Pending" {
				want.Status, want.Reason = have.Status, have.Reason // writes have failed for less than 30 s
			}
			switch {
			case have == nil:
				f.add("ServiceExport %s has no condition %s", keyOf(e), want.Type)
			case have.Status != want.Status || have.Reason != want.Reason || want.Message != "" && have.Message != want.Message || have.ObservedGeneration != want.ObservedGeneration:
				f.add("ServiceExport %s: the condition is %+v, want %+v", keyOf(e), *have, want)
			}
		}
	}
	return nil
}

// importProblems checks an import, its derived Service and its endpoints.
func (w *world) importProblems(f *findings, c *cluster, imp *mcsv1beta1.ServiceImport, t *truth, exports []merge.Export,
	services map[types.NamespacedName]*corev1.Service, parts map[part][]discoveryv1.EndpointSlice,
) {
	name := keyOf(imp).String()
	resolution := merge.Resolve(exports)
	want := imp.DeepCopy()
	metadata.Apply(&want.ObjectMeta, resolution.Exported())
	want.Labels[names.LabelManagedBy] = names.AgentManager
	want.Spec = resolution.Spec
	if want.Spec.Ports == nil {
		want.Spec.Ports = []mcsv1beta1.ServicePort{}
	}
	service := types.NamespacedName{Namespace: imp.Namespace, Name: imp.Annotations[names.AnnotationDerivedService]}
	have := services[service]
	delete(services, service)
	if have == nil {
		f.add("import %s has no derived Service %q", name, service.Name)
		return
	}
	if imp.Spec.Type == mcsv1beta1.ClusterSetIP {
		want.Spec.IPs = have.Spec.ClusterIPs
	} else {
		for _, name := range names.DerivedServices(imp.Name, false) { // a former clusterset IP stays reserved
			kept := types.NamespacedName{Namespace: imp.Namespace, Name: name}
			if s := services[kept]; s != nil && derived.OwnedBy(s, imp.Name) {
				delete(services, kept)
			}
		}
	}
	f.same("import "+name, imp.Spec, want.Spec)
	f.same("labels of import "+name, imp.Labels, want.Labels)
	f.same("annotations of import "+name, imp.Annotations, want.Annotations)
	f.same("clusters of import "+name, clustersOf(imp), resolution.Clusters)
	if ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready"); ready == nil || ready.Status != metav1.ConditionTrue || ready.ObservedGeneration != imp.Generation {
		f.add("import %s is not ready: %+v", name, ready)
	}
	if imp.Status.EndpointSliceObjects != mcsv1beta1.EndpointSliceObjectsPresent {
		f.add("import %s: endpointSliceObjects is %q", name, imp.Status.EndpointSliceObjects)
	}
	serviceProblems(f, have, imp, slices.IndexFunc(exports, func(e merge.Export) bool { return e.ClusterID == c.id.String() && isLocal(e.InternalTrafficPolicy) }) >= 0)
	for _, e := range exports {
		for _, s := range parts[part{keyOf(imp), e.ClusterID}] {
			sliceProblems(f, &s, have, imp)
		}
	}
	if v := t.viewOf(c, imp, exports); v.hasRoles() {
		w.roleProblems(f, v, parts)
		return
	}
	var all []*discoveryv1.EndpointSlice
	for _, e := range exports {
		part := part{keyOf(imp), e.ClusterID}
		for i := range parts[part] {
			all = append(all, &parts[part][i])
		}
	}
	for _, e := range exports {
		id := names.ClusterID(e.ClusterID)
		part := part{keyOf(imp), e.ClusterID}
		from := w.cluster(e.ClusterID)
		f.compare(part, parts[part], c.imported(imp, from, e), func(source string) string {
			return names.ImportedSlice(id, source)
		})
		w.hintProblems(f, c, imp, parts[part], topology.ReadyIn(all...))
		delete(parts, part)
	}
}

func isLocal(p *corev1.ServiceInternalTrafficPolicy) bool {
	return ptr.Deref(p, "") == corev1.ServiceInternalTrafficPolicyLocal
}

// serviceProblems checks that a derived Service needs no change. It is confined to nodes only if the cluster's own export is.
func serviceProblems(f *findings, s *corev1.Service, imp *mcsv1beta1.ServiceImport, ownIsLocal bool) {
	want := s.DeepCopy()
	derived.Apply(want, imp, nil)
	if !ownIsLocal && isLocal(want.Spec.InternalTrafficPolicy) {
		want.Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster)
	}
	f.same("derived Service "+keyOf(s).String(), s, want)
	if (s.Spec.ClusterIP == corev1.ClusterIPNone) != (imp.Spec.Type == mcsv1beta1.Headless) || len(s.Spec.Selector) > 0 {
		f.add("derived Service %s has the wrong type: %+v", keyOf(s), s.Spec)
	}
}

// sliceProblems checks the metadata of an imported slice.
func sliceProblems(f *findings, s *discoveryv1.EndpointSlice, service *corev1.Service, imp *mcsv1beta1.ServiceImport) {
	_, hidden := s.Labels[names.LabelHeadless]
	if s.Labels[discoveryv1.LabelServiceName] != service.Name || s.Labels[discoveryv1.LabelManagedBy] != names.AgentManager || hidden != (imp.Spec.Type == mcsv1beta1.Headless) {
		f.add("slice %s has labels %v", keyOf(s), s.Labels)
	}
	f.same("owner of slice "+keyOf(s).String(), s.OwnerReferences, []metav1.OwnerReference{derived.Owner(imp)})
}

// hintProblems checks the topology hints of one cluster's endpoints. ready counts the ready
// endpoints of the whole service.
func (w *world) hintProblems(f *findings, c *cluster, imp *mcsv1beta1.ServiceImport, have []discoveryv1.EndpointSlice, ready topology.Ready) {
	want := make([]discoveryv1.EndpointSlice, len(have))
	for i := range have {
		want[i] = *have[i].DeepCopy()
		for j := range want[i].Endpoints {
			want[i].Endpoints[j].Hints = nil
		}
	}
	topology.Hint(want, imp, topology.Viewpoint{
		Cluster: c.id, Zones: c.users.zones(),
		Near: func(id names.ClusterID) bool { return w.cluster(id.String()).region == c.region },
	}, ready)
	f.same("hints in "+keyOf(imp).String(), have, want)
}

// part is one cluster's share of a service.
type part struct {
	service types.NamespacedName
	cluster string
}

// partsOf groups Atoll's slices by part. namespace is the label that holds the service's
// namespace; if empty, the slice is in the service's namespace.
func partsOf(all []discoveryv1.EndpointSlice, namespace string) map[part][]discoveryv1.EndpointSlice {
	parts := map[part][]discoveryv1.EndpointSlice{}
	for _, s := range all {
		key := part{types.NamespacedName{Namespace: s.Namespace, Name: s.Labels[names.LabelServiceName]}, s.Labels[names.LabelSourceCluster]}
		if namespace != "" {
			key.service.Namespace = s.Labels[namespace]
		}
		parts[key] = append(parts[key], s)
	}
	return parts
}

// compare checks that there is one slice for each source, with the content of the source. A
// slice without a source must be empty.
func (f *findings) compare(of part, have []discoveryv1.EndpointSlice, want map[string]source, name func(source string) string) {
	found := map[string]source{}
	for _, s := range have {
		from := s.Annotations[names.AnnotationSourceSlice]
		if s.Name != name(from) {
			f.add("slice %s of %v does not have the name of %q", s.Name, of, from)
		}
		if _, wanted := want[from]; !wanted && len(s.Endpoints) == 0 {
			continue
		}
		if _, again := found[from]; again {
			f.add("several slices of %v from %q", of, from)
		}
		one := source{Addresses: s.AddressType, Ports: writePorts(s.Ports)}
		for _, e := range s.Endpoints {
			one.Endpoints = append(one.Endpoints, writeEndpoint(e))
		}
		slices.Sort(one.Endpoints)
		found[from] = one
	}
	if !equality.Semantic.DeepEqual(found, want) {
		f.add("endpoints of %v differ (-want +have):\n%s", of, gocmp.Diff(want, found))
	}
}
