// Package serviceimport keeps this cluster's ServiceImports: one for each exported service whose namespace exists here
// (KEP-1645, "Importing Services"). It owns all fields except the status; it copies the clusterset IPs from the derived
// Service.
package serviceimport

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// recordLead is how long the import of a new export waits for the export's record on the broker. The other clusters
// need the record first, and this cluster's writes would delay it.
const recordLead = 100 * time.Millisecond

// Reconciler writes ServiceImports.
type Reconciler struct {
	cluster    *inputs.Cluster
	pace       *border.Pace
	recorder   events.EventRecorder
	unrecorded kit.Since[types.NamespacedName] // this cluster's exports without a record
	lastEvents sync.Map                        // of eventKey: the subject of the last Event (string)
}

// New returns the controller.
func New(c *inputs.Cluster, member cache.Cache, pace *border.Pace, recorder events.EventRecorder) (controller.Controller, error) {
	r := &Reconciler{cluster: c, pace: pace, recorder: recorder}
	return kit.New("serviceimport", r,
		c.OnChanges(r.all),
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, kit.Same[*mcsv1beta1.ServiceImport]),
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, kit.Same[*mcsv1beta1.ServiceExport]),
		kit.Watch(member, &corev1.Service{}, r.service),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
	)
}

// all returns all services that are exported, or imported here.
func (r *Reconciler) all(ctx context.Context) []reconcile.Request {
	exports, err := local.ServiceExports(ctx, r.cluster.Client)
	if err != nil {
		return nil // the cache has stopped
	}
	imports, err := local.ServiceImports(ctx, r.cluster.Client)
	if err != nil {
		return nil
	}
	return slices.Concat(r.cluster.Services(ctx), exports, imports)
}

// service maps a Service to the service of the same name, and a derived Service to its import.
func (r *Reconciler) service(_ context.Context, e kit.Event[*corev1.Service]) []reconcile.Request {
	if imp := imported.Of(e.Latest()); imp.Name != "" {
		return []reconcile.Request{{NamespacedName: imp}}
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(e.Latest())}}
}

// namespace maps a namespace to the services that other members export from it; this cluster's own have events of their own.
func (r *Reconciler) namespace(_ context.Context, e kit.Event[*corev1.Namespace]) []reconcile.Request {
	if e.New != nil {
		r.sayMalformed(e.New)
	}
	return r.cluster.ServicesIn(e.Latest().Name)
}

// Reconcile writes the ServiceImport of one service from the service's exports.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.cluster.View.Known() {
		return reconcile.Result{}, nil // everything is queued when it is
	}
	have := &mcsv1beta1.ServiceImport{}
	if err := r.cluster.Client.Get(ctx, req.NamespacedName, have); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req, err)
	}
	if have.Labels[names.LabelManagedBy] == names.AggregateManager {
		return reconcile.Result{}, nil // this cluster is also a broker
	}
	exported, err := r.cluster.Exports(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the exports of %s: %w", req, err)
	}
	r.sayLeftOut(req.NamespacedName, exported)
	r.sayForeign(req.NamespacedName, have, len(exported.Imported) > 0)
	if have.UID != "" && (!local.Managed(have) || have.DeletionTimestamp != nil) {
		return reconcile.Result{}, nil
	}
	out := kit.OutcomeOf(r.apply(ctx, req.NamespacedName, have, exported))
	if out.Err == nil {
		r.sayRefused(req.NamespacedName, have, exported.Own.Export, out.Refusal)
	}
	return out.Result("writing ServiceImport %s", req)
}

func (r *Reconciler) apply(ctx context.Context, service types.NamespacedName, have *mcsv1beta1.ServiceImport, exported local.Exported) error {
	if have.UID != "" || len(exported.Imported) == 0 {
		r.unrecorded.Over(service)
	}
	if len(exported.Imported) == 0 {
		if have.UID == "" || len(exported.Awaited) > 0 {
			return nil
		}
		return kit.Delete(ctx, r.cluster.Client, have)
	}
	derived, err := r.derived(ctx, service)
	if err != nil {
		return err
	}
	want := want(have, service, merge.Resolve(exported.Imported), r.cluster.Network, derived)
	if len(exported.Awaited) > 0 && have.UID != "" {
		want = added(have, want)
	}
	want.Annotations[names.AnnotationApplied] = applied(exported, layout.Applied(have))
	if have.UID == "" {
		if err := r.awaitRecord(ctx, service, exported.Imported); err != nil {
			return err
		}
		return r.cluster.Stages.Do(kit.Imported, func() error {
			return kit.Create(ctx, r.cluster.Client, r.cluster.Live, want, func(o client.Object) bool { return local.Managed(o.(*mcsv1beta1.ServiceImport)) })
		})
	}
	by, key, now := changedBy(layout.Applied(have), layout.Applied(want)), "import/"+service.String(), time.Now()
	if equality.Semantic.DeepEqual(have.Spec, want.Spec) && equality.Semantic.DeepEqual(have.Labels, want.Labels) &&
		equality.Semantic.DeepEqual(have.Annotations, want.Annotations) {
		r.pace.Done(by, service.Namespace, key, now)
		return nil
	}
	if by != "" {
		if err := kit.Later(r.pace.Wait(by, service.Namespace, key, now)); err != nil {
			return err
		}
	}
	if len(have.Spec.IPs) == 0 && len(want.Spec.IPs) > 0 {
		if err := kit.Later(r.cluster.Stages.Wait(kit.Usable, now)); err != nil {
			return err
		}
	}
	updated := have.DeepCopy()
	updated.Labels, updated.Annotations, updated.Spec = want.Labels, want.Annotations, want.Spec
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}) // the agent has no permission to update ServiceImports
	if err := r.cluster.Client.Patch(ctx, updated, patch, client.FieldOwner(names.ManagerImport)); err != nil {
		return client.IgnoreNotFound(err)
	}
	r.pace.Done(by, service.Namespace, key, now)
	return nil
}

// awaitRecord returns an error for kit.OutcomeOf if a new import must wait for the record of this cluster's export. It does
// not if other clusters export the service, too.
func (r *Reconciler) awaitRecord(ctx context.Context, service types.NamespacedName, exports []merge.Export) error {
	if slices.ContainsFunc(exports, func(e merge.Export) bool { return e.ClusterID != r.cluster.ID.String() }) {
		return nil
	}
	if b := r.cluster.Broker(); b != nil {
		record, err := b.Record(ctx, r.cluster.Clusterset, r.cluster.ID, service)
		if err != nil {
			return fmt.Errorf("reading the ExportedService of %s: %w", service, err)
		}
		if record != nil {
			return nil
		}
	}
	return kit.Later(recordLead - r.unrecorded.For(service, time.Now()))
}

// changedBy returns a cluster whose record has a new revision, or "". Removals do not wait, so it is "" for them.
func changedBy(was, is map[names.ClusterID]int64) (by string) {
	for id, revision := range was {
		switch now, there := is[id]; {
		case !there:
			return ""
		case now != revision:
			by = id.String()
		}
	}
	return by
}

// derived returns a service's existing derived Services; the key is true for the headless one.
func (r *Reconciler) derived(ctx context.Context, service types.NamespacedName) (map[bool]*corev1.Service, error) {
	all := map[bool]*corev1.Service{}
	for _, headless := range []bool{false, true} {
		found, _, err := imported.Service(ctx, r.cluster.Client, service, headless)
		if err != nil {
			return nil, fmt.Errorf("reading the derived Service: %w", err)
		}
		if found != nil && found.DeletionTimestamp == nil {
			all[headless] = found
		}
	}
	return all, nil
}
