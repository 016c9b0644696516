// Package serviceimport writes this cluster's ServiceImports. There is one for each exported service whose namespace
// exists in this cluster (KEP-1645, "Importing Services"). It owns all fields except the status; it copies the
// clusterset IPs from the derived Service.
package serviceimport

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// recordLead is how long the import of a new export waits for the export's record on the broker. The other clusters
// need the record first, and this cluster's writes would delay it.
const recordLead = 100 * time.Millisecond

// adoptAfter is how long another implementation has to write the status of a ServiceImport that it has created.
const adoptAfter = 10 * time.Second

// Reconciler writes ServiceImports.
type Reconciler struct {
	cluster  *inputs.Cluster
	pace     *border.Pace
	recorder events.EventRecorder
	// imports and exports collect the problems of imports and of exports.
	imports, exports *status.Problems
	found            kit.Since[types.UID]                 // ServiceImports that Atoll has not created
	unrecorded       kit.Since[types.NamespacedName]      // this cluster's exports without a record
	absent           kit.Since[types.NamespacedName]      // ServiceImports that the API server refuses to create
	lastEvents       status.Announced[eventKey, struct{}] // the subject of the last Event
}

// New returns the controller.
func New(c *inputs.Cluster, member cache.Cache, pace *border.Pace, recorder events.EventRecorder, imports, exports *status.Problems) (controller.Controller, error) {
	r := &Reconciler{cluster: c, pace: pace, recorder: recorder, imports: imports, exports: exports}
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
	foreign, wait := r.isForeign(have, len(exported.Imported) > 0)
	if foreign && wait == 0 && len(exported.Imported) > 0 {
		r.sayForeign(req.NamespacedName, have)
	} else {
		r.sayForeign(req.NamespacedName, nil)
	}
	if foreign || have.DeletionTimestamp != nil {
		return kit.After(wait), nil
	}
	out := kit.OutcomeOf(r.apply(ctx, req.NamespacedName, have, exported))
	part, why := status.Part{Kind: mcsv1beta1.ServiceImportKindName}, out.Refusal
	r.imports.Set(req.NamespacedName, part, status.ProblemOf(out))
	if problem := r.imports.Of(req.NamespacedName)[part]; problem.HasFailed(time.Now()) {
		why = problem.Failure
	}
	r.sayRefused(req.NamespacedName, have, exported.Own.Export, why, time.Now())
	return out.Result("writing ServiceImport %s", req)
}

// isForeign reports whether a ServiceImport of an exported service is another implementation's. One that only describes the
// service, such as a GitOps tool applies it, is adopted after adoptAfter: another implementation has written its status then.
func (r *Reconciler) isForeign(have *mcsv1beta1.ServiceImport, isExported bool) (foreign bool, wait time.Duration) {
	switch {
	case have.UID == "" || ownership.IsManaged(have):
		r.found.Over(have.UID)
		return false, 0
	case !isExported || !ownership.IsAdoptable(have):
		return true, 0
	}
	wait = max(0, adoptAfter-r.found.For(have.UID, time.Now()))
	return wait > 0, wait
}

// apply writes what decide says, unless it must wait.
func (r *Reconciler) apply(ctx context.Context, service types.NamespacedName, have *mcsv1beta1.ServiceImport, exported local.Exported) error {
	services, err := r.derived(ctx, service)
	if err != nil {
		return err
	}
	d := decide(have, service, exported, r.cluster.Network, services)
	if d.create == nil {
		r.unrecorded.Over(service)
	}
	key, now := "import/"+service.String(), time.Now()
	switch {
	case d.remove:
		return kit.Delete(ctx, r.cluster.Client, have)
	case d.create != nil:
		return r.create(ctx, service, key, d, exported, now)
	case d.update != nil:
		if err := r.wait(service, key, have, d, now); err != nil {
			return err
		}
		patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{}) // the agent has no permission to update ServiceImports
		if err := r.cluster.Client.Patch(ctx, d.update, patch, client.FieldOwner(names.ManagerImport)); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	r.pace.Done(d.by, service.Namespace, key, now)
	return nil
}

// create creates a ServiceImport, unless it must wait.
func (r *Reconciler) create(ctx context.Context, service types.NamespacedName, key string, d decision, exported local.Exported, now time.Time) error {
	if err := r.awaitRecord(ctx, service, exported.Imported); err != nil {
		return err
	}
	if exported.Own.Contribution == nil && d.by != "" {
		if err := kit.Later(r.pace.Wait(d.by, service.Namespace, key, now)); err != nil {
			return err
		}
	}
	err := r.cluster.Stages.Do(kit.Imported, func() error {
		return kit.Create(ctx, client.WithFieldOwner(r.cluster.Client, names.ManagerImport), r.cluster.Live, d.create, func(o client.Object) bool { return ownership.IsManaged(o) })
	})
	if err == nil {
		r.pace.Done(d.by, service.Namespace, key, now)
	}
	return err
}

// wait returns an error for kit.OutcomeOf if an update must wait: for the member's rate limit, or for a burst of exports.
func (r *Reconciler) wait(service types.NamespacedName, key string, have *mcsv1beta1.ServiceImport, d decision, now time.Time) error {
	if d.by != "" {
		if err := kit.Later(r.pace.Wait(d.by, service.Namespace, key, now)); err != nil {
			return err
		}
	}
	if len(have.Spec.IPs) == 0 && len(d.update.Spec.IPs) > 0 {
		return kit.Later(r.cluster.Stages.Wait(kit.Usable, now))
	}
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
