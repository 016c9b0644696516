// Package serviceexport keeps this cluster's export records on the broker.
package serviceexport

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
	"github.com/atoll-mcs/atoll/internal/urgency"
)

// Controller is the export controller of one member cluster.
type Controller struct {
	local    client.Client
	live     client.Reader // of the own cluster, past the copy
	broker   *broker.View
	writer   controllers.Writer // to the broker
	self     local.Cluster
	grace    time.Duration
	missing  sync.Map // of types.NamespacedName: since when (time.Time) the Service of an export is missing
	records  *status.Outcomes[types.NamespacedName]
	progress *status.Progress
}

// NewController returns a controller that reads ServiceExports by local and writes records by
// view, of the cluster self. The record of a Service that is deleted while its ServiceExport stands is kept for grace. live reads the own cluster past any copy. How it goes is noted in
// records, as soon as it is certain what there is to export, and progress is told which records were
// tried.
func NewController(local client.Client, live client.Reader, view *broker.View, self local.Cluster, grace time.Duration, records *status.Outcomes[types.NamespacedName], progress *status.Progress) *Controller {
	return &Controller{
		local: local, live: live, broker: view, writer: controllers.Writer{Client: view.Client, Reader: view.Client, Broker: true},
		self: self, grace: grace, records: records, progress: progress,
	}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "serviceexport" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceExport{}).
		Watches(&corev1.Service{}, &handler.EnqueueRequestForObject{}).
		// Records that nobody exports any more are found here too, after a restart.
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.broker.OnExport(func(e *brokerv1alpha1.ExportedService, initial bool) {
				if e.Spec.ClusterID == c.self.ID.String() {
					add(reconcile.Request{NamespacedName: e.Spec.Service()}, initial)
				}
			})
		})).
		WatchesRawSource(controllers.Policies(c.broker)).
		WatchesRawSource(controllers.Permissions(c.broker, c.allExports)).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, c.allExports)).
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.progress.OnBegin(func(service types.NamespacedName) { add(reconcile.Request{NamespacedName: service}, false) })
		})).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

func (c *Controller) allExports(ctx context.Context) ([]reconcile.Request, error) {
	return local.ServiceExports(ctx, c.local)
}

// Reconcile brings the record of one ServiceExport up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	round := c.progress.Round()
	own, err := local.Gather(ctx, c.local, c.self, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req, err)
	}
	// What the record says already was looked at when it was written.
	if record := c.broker.Export(req.NamespacedName, c.self.ID); !isRecord(record, own.Contribution) || record != nil && broker.Withdrawn(record) {
		if behind, err := local.Behind(urgency.At(ctx, urgency.Export), c.live, own); behind || err != nil {
			return reconcile.Result{}, err
		}
	}
	if !c.broker.ExportsSynced() {
		c.await(req.NamespacedName, own)
		return reconcile.Result{}, nil // all are queued once they are
	}
	left := c.graceLeft(req.NamespacedName, own)
	if own.Service == nil && left <= 0 {
		own.Contribution = nil
	}
	err = c.applyRecord(ctx, req, own)
	controllers.Tried(c.progress, status.StepRecord, req.NamespacedName, round, err)
	switch {
	case own.Export == nil:
		c.records.Forget(req.NamespacedName)
	case err != nil:
		c.records.Set(req.NamespacedName, status.Outcome{Failure: err.Error()})
	default:
		c.records.Set(req.NamespacedName, status.Outcome{})
	}
	if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: left}, nil
}

// graceLeft returns for how long the record of an export without Service is kept, 0 where it is not or where there is a Service.
func (c *Controller) graceLeft(service types.NamespacedName, own local.Own) time.Duration {
	if own.Export == nil || own.Service != nil || own.Contribution == nil {
		c.missing.Delete(service)
		return 0
	}
	since, _ := c.missing.LoadOrStore(service, time.Now())
	return max(0, c.grace-time.Since(since.(time.Time)))
}

// await notes that an export waits for the broker, of which nothing was said before.
func (c *Controller) await(service types.NamespacedName, own local.Own) {
	if _, known := c.records.Get(service); !known && own.Export != nil {
		c.records.Set(service, status.Outcome{Waiting: true})
	}
}

// applyRecord makes the broker's record equal to what the cluster contributes.
func (c *Controller) applyRecord(ctx context.Context, req reconcile.Request, own local.Own) error {
	have := c.broker.Export(req.NamespacedName, c.self.ID)
	want := own.Contribution
	var err error
	switch {
	case want == nil && have == nil:
	case want == nil && broker.Withdrawn(have):
		err = c.writer.Delete(ctx, have)
	case want == nil:
		err = c.writer.Update(ctx, withdrawn(have)) // and deleted when the copy shows that
	case have == nil:
		err = c.writer.Create(ctx, c.record(want))
	case want.ExportedAt.Before(&have.Spec.ExportedAt):
		// The cluster was restored from a backup, and the broker lets no record become older. Without a mark of withdrawal
		// other clusters keep what they have until the record is there again.
		err = c.writer.Delete(ctx, have)
	case broker.Withdrawn(have) || !isRecord(have, want):
		updated := have.DeepCopy()
		updated.Spec = *want
		delete(updated.Annotations, names.AnnotationWithdrawn)
		err = c.writer.Update(ctx, updated)
	}
	if err != nil {
		return fmt.Errorf("writing the export record on the broker: %w", err)
	}
	return nil
}

// withdrawn returns a record that says that it is about to go: what goes without was not taken away by this
// cluster (docs/adr/0031-epochs.md).
func withdrawn(have *brokerv1alpha1.ExportedService) *brokerv1alpha1.ExportedService {
	record := have.DeepCopy()
	metav1.SetMetaDataAnnotation(&record.ObjectMeta, names.AnnotationWithdrawn, "true")
	return record
}

// isRecord tells whether a record says just what the cluster contributes.
func isRecord(have *brokerv1alpha1.ExportedService, want *brokerv1alpha1.ExportedServiceSpec) bool {
	return have != nil && want != nil && equality.Semantic.DeepEqual(have.Spec, *want)
}

func (c *Controller) record(spec *brokerv1alpha1.ExportedServiceSpec) *brokerv1alpha1.ExportedService {
	return &brokerv1alpha1.ExportedService{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.broker.Namespace,
			Name:      names.Export(c.self.ID, spec.ServiceNamespace, spec.ServiceName),
			Labels: map[string]string{
				names.LabelSourceCluster:    c.self.ID.String(),
				names.LabelServiceNamespace: spec.ServiceNamespace,
				names.LabelServiceName:      spec.ServiceName,
			},
		},
		Spec: *spec,
	}
}
