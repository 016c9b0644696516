package importedslice

import (
	"context"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Request is a part that is reconciled, or what is made of one slice in it, so that the work
// for a change does not grow with the service. Parts are independent of each other, so that
// the broker's absence concerns the other clusters' alone.
type Request struct {
	local.Part
	// Slice is the EndpointSlice's name in the source cluster, "" for all.
	Slice string
}

// String writes the request for logs.
func (r Request) String() string {
	if r.Slice == "" {
		return r.Part.String()
	}
	return "slice " + r.Slice + " of " + r.Part.String()
}

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return builder.TypedControllerManagedBy[Request](mgr).
		Named(c.Name()).
		Watches(&mcsv1beta1.ServiceImport{}, handler.TypedEnqueueRequestsFromMapFunc(c.partsOf), builder.WithPredicates(controllers.ImportChanged)).
		Watches(&corev1.Namespace{}, handler.TypedEnqueueRequestsFromMapFunc(c.partsInNamespace), builder.WithPredicates(controllers.OpennessChanged)).
		Watches(&discoveryv1.EndpointSlice{}, c.onImported()).
		Watches(&corev1.Node{}, c.onNode(), builder.OnlyMetadata).
		Watches(&mcsv1beta1.ServiceExport{}, handler.TypedEnqueueRequestsFromMapFunc(c.ownPart), builder.WithPredicates(controllers.SpecChanged)).
		Watches(&corev1.Service{}, handler.TypedEnqueueRequestsFromMapFunc(c.ownPart), builder.WithPredicates(controllers.ServiceChanged)).
		WatchesRawSource(controllers.Events(c.subscribe)).
		WatchesRawSource(controllers.Once(c.awaitOthers, func(ctx context.Context) ([]Request, error) { return c.allParts(ctx) })).
		WatchesRawSource(controllers.Once(c.broker.AwaitMembers, c.hintedParts)).
		WatchesRawSource(controllers.Once(c.broker.AwaitMembers, func(ctx context.Context) ([]Request, error) {
			return c.partsByClusterIP(ctx, "")
		})).
		WithOptions(controllers.Options[Request]()).
		Complete(c)
}

// subscribe has requests queued for what happens on the broker and to the own endpoints.
func (c *Controller) subscribe(queue func(Request, bool)) {
	c.queue = queue
	c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
		if broker.Withdrawn(e) && c.broker.Export(e.Spec.Service(), names.ClusterID(e.Spec.ClusterID)) == nil {
			return // it was withdrawn before it was deleted
		}
		queue(part(e.Spec.ServiceNamespace, e.Spec.ServiceName, e.Spec.ClusterID), initial)
	})
	c.broker.OnSlice(func(s *discoveryv1.EndpointSlice, initial bool) {
		req := part(s.Labels[names.LabelServiceNamespace], s.Labels[names.LabelServiceName], s.Labels[names.LabelSourceCluster])
		if req.Slice = s.Annotations[names.AnnotationSourceSlice]; req.Slice == "" || initial { // OnSlicesSynced follows
			return
		}
		c.seen.Start(req)
		if source := c.source(req); source != nil && len(source.Endpoints) > 0 {
			c.slices.Queued(req.Part, req.Slice)
		}
		queue(req, false)
	})
	c.sources.OnChange(func(s *discoveryv1.EndpointSlice, initial bool) {
		service := s.Labels[discoveryv1.LabelServiceName]
		if service == "" || initial { // OnSynced follows
			return
		}
		req := part(s.Namespace, service, c.broker.Self.String())
		req.Slice = s.Name
		if c.sources.Get(req.Service, s.Name) != nil {
			c.slices.Queued(req.Part, s.Name)
		}
		queue(req, false)
	})
	// An error in the following means that the agent ends; a cache that is synced does not
	// fail before.
	all := func(parts []Request, initial bool, _ error) {
		for _, part := range parts {
			queue(part, initial)
		}
	}
	ctx := context.Background()
	c.broker.OnRegion(func() {
		parts, err := c.hintedParts(ctx)
		all(parts, false, err)
	})
	c.broker.OnServiceRanges(func(cluster names.ClusterID) {
		parts, err := c.partsByClusterIP(ctx, cluster)
		all(parts, false, err)
	})
	c.options.Withdrawn.OnChange(func(cluster string) { all(c.partsFrom(ctx, names.ClusterID(cluster)), false, nil) })
	c.broker.OnPermission(func(cluster names.ClusterID) {
		if cluster != c.broker.Self {
			all(c.partsFrom(ctx, cluster), false, nil)
		}
	})
	c.options.Hosts.OnChange(func(added []netip.Prefix) {
		parts, err := c.partsAt(ctx, added)
		all(parts, false, err)
	})
	c.broker.OnSlicesSynced(func(namespace string) {
		parts, err := c.partsIn(ctx, namespace)
		all(parts, true, err)
	})
	c.sources.OnSynced(func(namespace string) {
		parts, err := c.ownPartsIn(ctx, namespace)
		all(parts, true, err)
	})
}

// awaitOthers returns when it is known what other clusters export, what they are permitted, and which of
// them are lost.
func (c *Controller) awaitOthers(ctx context.Context) error {
	if err := c.broker.AwaitExports(ctx); err != nil {
		return err
	}
	return c.options.Withdrawn.Await(ctx)
}

func part(namespace, service, cluster string) Request {
	return Request{Part: local.Part{Service: types.NamespacedName{Namespace: namespace, Name: service}, Cluster: names.ClusterID(cluster)}}
}

// partsOf maps an import to its parts: those of the exporting clusters, and those of
// which there are slices still.
func (c *Controller) partsOf(ctx context.Context, object client.Object) []Request {
	imp := object.(*mcsv1beta1.ServiceImport)
	requests := []Request{part(imp.Namespace, imp.Name, c.broker.Self.String())}
	for _, export := range c.exports(client.ObjectKeyFromObject(imp), nil) {
		requests = append(requests, part(imp.Namespace, imp.Name, export.ClusterID))
	}
	left, err := local.SourceClusters(ctx, c.local, client.ObjectKeyFromObject(imp))
	if err != nil {
		return requests // the cache is not synced yet; every slice is queued once it is
	}
	for _, id := range left {
		requests = append(requests, part(imp.Namespace, imp.Name, id.String()))
	}
	return requests
}

// partsInNamespace maps a namespace to the parts of its imports.
func (c *Controller) partsInNamespace(ctx context.Context, namespace client.Object) []Request {
	requests, err := c.partsIn(ctx, namespace.GetName())
	if err != nil {
		return nil // the cache is not synced yet; every part is queued once it is
	}
	return requests
}

// ownPart maps a ServiceExport or a Service to this cluster's part. Where nothing is exported
// from its namespace it does not matter, and there are many Services.
func (c *Controller) ownPart(_ context.Context, object client.Object) []Request {
	if _, service := object.(*corev1.Service); service && !c.sources.Follows(object.GetNamespace()) {
		return nil
	}
	return []Request{part(object.GetNamespace(), object.GetName(), c.broker.Self.String())}
}

// eachImport returns what the imports that opts select are mapped to.
func (c *Controller) eachImport(ctx context.Context, requests func(*mcsv1beta1.ServiceImport) []Request, opts ...client.ListOption) ([]Request, error) {
	imports := &mcsv1beta1.ServiceImportList{}
	if err := c.local.List(ctx, imports, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		return nil, err
	}
	var all []Request
	for i := range imports.Items {
		all = append(all, requests(&imports.Items[i])...)
	}
	return all, nil
}

// allParts returns the parts of the imports that opts select.
func (c *Controller) allParts(ctx context.Context, opts ...client.ListOption) ([]Request, error) {
	return c.eachImport(ctx, func(imp *mcsv1beta1.ServiceImport) []Request { return c.partsOf(ctx, imp) }, opts...)
}

// ownPartsIn returns this cluster's parts of the imports in a namespace.
func (c *Controller) ownPartsIn(ctx context.Context, namespace string) ([]Request, error) {
	return c.eachImport(ctx, func(imp *mcsv1beta1.ServiceImport) []Request {
		return []Request{part(namespace, imp.Name, c.broker.Self.String())}
	}, client.InNamespace(namespace))
}

// partsIn returns the parts of the imports in a namespace, those without any slice too: that
// they have none is known only now; and those of which there are imported slices still.
func (c *Controller) partsIn(ctx context.Context, namespace string) ([]Request, error) {
	requests, err := c.allParts(ctx, client.InNamespace(namespace))
	if err != nil {
		return nil, err
	}
	list := &discoveryv1.EndpointSliceList{}
	if err := c.local.List(ctx, list, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	seen := map[Request]bool{}
	for i := range list.Items {
		if req := partOf(&list.Items[i]); !seen[req] {
			seen[req] = true
			requests = append(requests, req)
		}
	}
	return requests, nil
}

// partsFrom returns the parts of one other cluster.
func (c *Controller) partsFrom(ctx context.Context, cluster names.ClusterID) []Request {
	var requests []Request
	for _, service := range c.broker.ServicesOf(cluster) {
		requests = append(requests, part(service.Namespace, service.Name, cluster.String()))
	}
	imported, _ := local.ImportedFromCluster(ctx, c.local, cluster) // also what the broker has lost
	for _, slice := range imported {
		requests = append(requests, partOf(slice))
	}
	return requests
}

// partOf maps an imported slice to the part that it belongs to.
func partOf(slice *discoveryv1.EndpointSlice) Request {
	return part(slice.Namespace, slice.Labels[names.LabelServiceName], slice.Labels[names.LabelSourceCluster])
}

// partsByClusterIP returns the parts of other clusters that hold cluster IPs: those of
// one cluster, or of all for "".
func (c *Controller) partsByClusterIP(ctx context.Context, of names.ClusterID) ([]Request, error) {
	all, err := c.allParts(ctx)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(all, func(r Request) bool {
		return r.Cluster == c.broker.Self || of != "" && r.Cluster != of ||
			!slices.ContainsFunc(c.broker.Slices(r.Service, r.Cluster), endpoints.ByClusterIP)
	}), nil
}

// partsAt returns the parts of other clusters that have endpoints in one of these ranges, and those
// of which endpoints are left out, for it may be for an address that is not what it was.
func (c *Controller) partsAt(ctx context.Context, added []netip.Prefix) ([]Request, error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := c.local.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var parts []Request
	for i := range list.Items {
		s := &list.Items[i]
		if req := partOf(s); req.Cluster != c.broker.Self && !slices.Contains(parts, req) && slices.ContainsFunc(s.Endpoints, func(e discoveryv1.Endpoint) bool {
			return slices.ContainsFunc(e.Addresses, func(text string) bool {
				a, err := netip.ParseAddr(text)
				return err == nil && slices.ContainsFunc(added, func(p netip.Prefix) bool { return p.Contains(a) })
			})
		}) {
			parts = append(parts, req)
		}
	}
	for part, refused := range c.slices.Counts() {
		if refused > 0 {
			parts = append(parts, Request{Part: part})
		}
	}
	return parts, nil
}
