package convergence

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// group selects clusters: those with some ids, or those in the region of the importing cluster.
type group struct {
	ids  []string
	near bool
}

func (g group) selects(cluster, importer *cluster) bool {
	return g.near && cluster.region == importer.region || slices.Contains(g.ids, cluster.id.String())
}

// wish is what a TrafficPolicy asks for.
type wish struct {
	groups []group // the best ones first
	none   bool    // other clusters are never used
	// weights are the weights of clusters, in order of their ids; nil for none.
	weights map[string]int32
}

// aim is a target of TrafficPolicies. Without kind, it is the cluster's default.
type aim struct {
	kind    string
	service types.NamespacedName
}

var byDefault = aim{service: types.NamespacedName{Namespace: names.SystemNamespace, Name: trafficv1alpha1.DefaultPolicy}}

const (
	importKind = "ServiceImport"
	exportKind = "ServiceExport"
)

func forImport(service types.NamespacedName) aim { return aim{importKind, service} }

func forExport(service types.NamespacedName) aim { return aim{exportKind, service} }

// policy returns the name of the TrafficPolicy for an aim. Each aim has one.
func (a aim) policy() types.NamespacedName {
	name := a.service
	if a.kind == exportKind {
		name.Name += "-export"
	}
	return name
}

// spec returns a wish as users write it.
func (a aim) spec(want wish) (spec trafficv1alpha1.TrafficPolicySpec) {
	if a.kind != "" {
		spec.TargetRefs = []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: a.kind, Name: a.service.Name}}
	}
	spec.Preference = want.preference()
	return spec
}

func (want wish) preference() (p trafficv1alpha1.Preference) {
	for _, g := range want.groups {
		var selector trafficv1alpha1.PropertySelector
		if g.near {
			selector.MatchProperties = map[string]string{trafficv1alpha1.RegionProperty: trafficv1alpha1.SameAsImporter}
		} else {
			selector.MatchExpressions = []trafficv1alpha1.PropertyExpression{{Key: "cluster.clusterset.k8s.io", Operator: metav1.LabelSelectorOpIn, Values: g.ids}}
		}
		p.ClusterSelectors = append(p.ClusterSelectors, trafficv1alpha1.ClusterGroup{PropertySelector: selector})
	}
	if p.Fallback = trafficv1alpha1.FallbackAll; want.none {
		p.Fallback = trafficv1alpha1.FallbackNone
	}
	for _, id := range slices.Sorted(maps.Keys(want.weights)) {
		p.Weights = append(p.Weights, trafficv1alpha1.ClusterWeight{Cluster: id, Weight: want.weights[id]})
	}
	return p
}

// makePolicy creates, changes or deletes the TrafficPolicy for an aim.
func (c *cluster) makePolicy(ctx context.Context, a aim, want *wish) error {
	name := a.policy()
	policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: made.Meta(name.Namespace, name.Name)}
	_, exists := c.users.wishes[a]
	if delete(c.users.wishes, a); want == nil {
		if !exists {
			return nil
		}
		return c.admin.Delete(ctx, policy)
	}
	c.users.wishes[a] = *want
	if !exists {
		policy.Spec = a.spec(*want)
		return c.admin.Create(ctx, policy)
	}
	if err := c.admin.Get(ctx, name, policy); err != nil {
		return err
	}
	policy.Spec = a.spec(*want)
	return c.admin.Update(ctx, policy)
}

// someWish returns a random wish, or nil for none.
func (w *world) someWish() *wish {
	want := &wish{none: w.random.IntN(3) == 0}
	for range w.random.IntN(3) {
		switch ids := w.someClusters(); {
		case w.random.IntN(4) == 0:
			want.groups = append(want.groups, group{near: true})
		case len(ids) > 0:
			want.groups = append(want.groups, group{ids: ids})
		}
	}
	if w.random.IntN(3) == 0 {
		want.weights = w.someWeights()
	}
	if len(want.groups)+len(want.weights) == 0 {
		return nil
	}
	return want
}

// someWeights returns random weights of some clusters.
func (w *world) someWeights() map[string]int32 {
	all := map[string]int32{}
	for _, c := range w.clusters {
		if w.random.IntN(5) > 0 {
			all[c.id.String()] = []int32{0, 0, 0, 1, 1, 2, 3, 10, 50, 90, 333}[w.random.IntN(11)]
		}
	}
	return all
}

// changePolicy makes users of a cluster want something else for a service that they import, or export, or nothing.
func changePolicy(ctx context.Context, w *world, c *cluster) error {
	a := forImport(w.someExported(c))
	if w.random.IntN(3) == 0 {
		a.kind = exportKind
		if first := w.oldestOf(a.service); first != nil && w.random.IntN(4) > 0 {
			c = first // other exports' policies do not count
		}
	}
	if !c.users.namespaces[a.service.Namespace] {
		return nil
	}
	return w.change(ctx, c, a)
}

// someExported returns the name of a service, if possible of one that a cluster imports.
func (w *world) someExported(c *cluster) (key types.NamespacedName) {
	if c.users.namespaces[w.common.Namespace] && w.random.IntN(2) == 0 {
		return w.common
	}
	for range 10 {
		key = w.someName()
		isExported := slices.ContainsFunc(w.clusters, func(from *cluster) bool {
			return from.users.exports[key] != nil && from.users.services[key] != nil && len(from.users.slicesOf(key)) > 0
		})
		if isExported && c.users.namespaces[key.Namespace] {
			return key
		}
	}
	return key
}

// oldestOf returns the cluster with the oldest export of a service, as its users see it, or nil.
func (w *world) oldestOf(service types.NamespacedName) (first *cluster) {
	for _, c := range w.clusters {
		e := c.users.exports[service]
		if e != nil && c.users.namespaces[service.Namespace] && (first == nil || e.CreationTimestamp.Before(&first.users.exports[service].CreationTimestamp)) {
			first = c
		}
	}
	return first
}

// changeDefault makes the administrator of a cluster want something else for services without a policy, or nothing.
func changeDefault(ctx context.Context, w *world, c *cluster) error {
	return w.change(ctx, c, byDefault)
}

func (w *world) change(ctx context.Context, c *cluster, a aim) error {
	want := w.someWish()
	w.note("%s: %s is %+v", c.id, a.policy(), want)
	return c.makePolicy(ctx, a, want)
}

// wishFor returns what counts in a cluster for an imported service, or nil: its users' wish for the import, or else that of the
// oldest export, or else the default.
func (t *truth) wishFor(c *cluster, imp *mcsv1beta1.ServiceImport, exports []merge.Export) *wish {
	if imp.Spec.Type == mcsv1beta1.Headless {
		return nil // headless services have no order
	}
	if want, found := c.users.wishes[forImport(keyOf(imp))]; found {
		return &want
	}
	if from := oldest(exports); from != "" {
		if want := t.advice(c, from, keyOf(imp)); want != nil {
			return want
		}
	}
	if want, found := c.users.wishes[byDefault]; found {
		return &want
	}
	return nil
}

// advises returns what policies for ServiceExports ask for.
func (u *users) advises() map[types.NamespacedName]wish {
	all := map[types.NamespacedName]wish{}
	for a, want := range u.wishes {
		if a.kind == exportKind {
			all[a.service] = want
		}
	}
	return all
}

// oldest returns the cluster with the oldest export, "" if there is none.
func oldest(exports []merge.Export) string {
	if len(exports) == 0 {
		return ""
	}
	return slices.MinFunc(exports, func(a, b merge.Export) int {
		return cmp.Or(a.ExportedAt.Compare(b.ExportedAt.Time), cmp.Compare(a.ClusterID, b.ClusterID))
	}).ClusterID
}

// advice returns what an exporting cluster wants that counts in another one, or nil. Without leave, it can neither forbid
// clusters nor have weights.
func (t *truth) advice(c *cluster, from string, service types.NamespacedName) *wish {
	want, found := t.advised[from][service]
	switch {
	case !found:
		return nil
	case from == c.id.String(), t.owns(from, service.Namespace), accepts(c.users.accepts[service.Namespace], from):
		return &want
	}
	if want.none, want.weights = false, nil; len(want.groups) == 0 {
		return nil // nothing is left, so the default counts
	}
	return &want
}

// accepts reports whether the annotation of a namespace names a cluster.
func accepts(annotation, id string) bool { return annotation == "*" || hasWord(annotation, id) }

// owns reports whether the broker's administrator has reserved a namespace for a cluster, perhaps among others.
func (t *truth) owns(id, namespace string) bool {
	return hasWord(t.config[permissions.Reserved], namespace) && hasWord(t.config[permissions.NamespacesPrefix+id], namespace)
}

// hasWord reports whether a text has a word between commas.
func hasWord(text, word string) bool {
	return slices.ContainsFunc(strings.Split(text, ","), func(some string) bool { return strings.TrimSpace(some) == word })
}

// accept lets policies of other clusters' exports forbid clusters in a namespace, or not any more.
func accept(ctx context.Context, w *world, c *cluster) error {
	name := namespaces[w.random.IntN(len(namespaces))]
	if !c.users.namespaces[name] {
		return nil
	}
	text := strings.Join(w.someClusters(), ", ")
	if w.random.IntN(3) == 0 {
		text = "*"
	}
	c.users.accepts[name] = text
	return c.annotate(ctx, name, names.AnnotationAcceptWeights, text)
}

// annotate sets an annotation of a namespace, or removes it if the value is empty.
func (c *cluster) annotate(ctx context.Context, namespace, key, value string) error {
	object := &corev1.Namespace{}
	if err := c.admin.Get(ctx, types.NamespacedName{Name: namespace}, object); err != nil {
		return err
	}
	if metav1.SetMetaDataAnnotation(&object.ObjectMeta, key, value); value == "" {
		delete(object.Annotations, key)
	}
	return c.admin.Update(ctx, object)
}

// forgetPolicies forgets the policies and annotations of a deleted namespace.
func (u *users) forgetPolicies(namespace string) {
	delete(u.accepts, namespace)
	delete(u.drains, namespace)
	maps.DeleteFunc(u.wishes, func(a aim, _ wish) bool { return a.service.Namespace == namespace })
}

// never is the group of clusters that are not to be used.
const never = -1

// rank returns the group of a cluster for an importing cluster: those that are not preferred are behind.
func (want *wish) rank(cluster, importer *cluster) int {
	if want == nil {
		return 0
	}
	i := slices.IndexFunc(want.groups, func(g group) bool { return g.selects(cluster, importer) })
	switch {
	case i >= 0:
		return i
	case want.none && len(want.groups) > 0:
		return never
	}
	return len(want.groups)
}
