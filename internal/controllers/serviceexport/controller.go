// Package serviceexport keeps this cluster's export records on the broker, and the
// conditions Valid and Ready of its ServiceExports.
package serviceexport

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller is the export controller of one member cluster.
type Controller struct {
	local    client.Client
	live     client.Reader // of the own cluster, past the copy
	broker   *broker.View
	writer   controllers.Writer // to the broker
	self     local.Cluster
	recorder events.EventRecorder
	// endpoints says how publishing the endpoints of each export went.
	endpoints *status.Outcomes[types.NamespacedName]
}

// NewController returns a controller that reads and writes ServiceExports by local
// and records by view, of the cluster self, and learns from endpoints how publishing the
// endpoints of each went. live reads the own cluster past any copy.
func NewController(local client.Client, live client.Reader, view *broker.View, self local.Cluster, recorder events.EventRecorder,
	endpoints *status.Outcomes[types.NamespacedName],
) *Controller {
	return &Controller{
		local: local, live: live, broker: view, writer: controllers.Writer{Client: view.Client, Reader: view.Client, Broker: true},
		self: self, recorder: recorder, endpoints: endpoints,
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
					add(reconcile.Request{NamespacedName: client.ObjectKey{Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName}}, initial)
				}
			})
		})).
		WatchesRawSource(controllers.Once(c.broker.AwaitExports, c.allExports)).
		WatchesRawSource(controllers.Events(func(add func(reconcile.Request, bool)) {
			c.endpoints.OnChange(func(service types.NamespacedName) { add(reconcile.Request{NamespacedName: service}, false) })
		})).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

func (c *Controller) allExports(ctx context.Context) ([]reconcile.Request, error) {
	return local.ServiceExports(ctx, c.local)
}

// Reconcile brings the record and the conditions of one ServiceExport up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	own, err := local.Gather(ctx, c.local, c.self, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering export %s: %w", req, err)
	}
	if outdated, err := c.outdated(ctx, own); outdated || err != nil {
		return reconcile.Result{}, err
	}
	brokerSeen := c.broker.ExportsSynced()
	var recordErr error
	if brokerSeen {
		recordErr = c.applyRecord(ctx, req, own)
	}
	endpoints, tried := c.endpoints.Get(req.NamespacedName)
	if own.Export == nil {
		return reconcile.Result{}, recordErr
	}
	endpoints.Remarks = slices.Concat(remarks(own), endpoints.Remarks)
	wanted := conditions(own, brokerSeen, recordErr, endpoints, tried)
	if len(wanted) == 1 && c.broker.PublishedSynced() {
		return reconcile.Result{}, nil // the endpoints are tried in a moment, and then one write says both
	}
	if err := c.applyConditions(ctx, own, endpoints, wanted); err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{}, recordErr
}

// outdated tells whether the copy has not the Service that there is: ServiceExports and
// Services come by watches of their own. An export whose Service is a moment behind is not to
// be called one without, and a new one is not to be judged by what its Service was before. The
// Service's coming is the next event.
func (c *Controller) outdated(ctx context.Context, own local.Own) (bool, error) {
	if own.Export == nil || own.Service != nil && own.Judged() {
		return false, nil
	}
	service := &corev1.Service{}
	err := c.live.Get(ctx, client.ObjectKeyFromObject(own.Export), service)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading Service %s/%s: %w", own.Export.Namespace, own.Export.Name, err)
	}
	if own.Service != nil {
		return err != nil || service.ResourceVersion != own.Service.ResourceVersion, nil
	}
	return err == nil && service.DeletionTimestamp == nil, nil
}

// applyRecord makes the broker's record equal to what the cluster contributes.
func (c *Controller) applyRecord(ctx context.Context, req reconcile.Request, own local.Own) error {
	have := c.broker.Export(req.NamespacedName, c.self.ID)
	want := own.Contribution
	var err error
	switch {
	case want == nil && have == nil:
	case want == nil:
		err = c.writer.Delete(ctx, have)
	case have == nil:
		err = c.writer.Create(ctx, c.record(want))
	case !equality.Semantic.DeepEqual(have.Spec, *want):
		updated := have.DeepCopy()
		updated.Spec = *want
		err = c.writer.Update(ctx, updated)
	}
	if err != nil {
		return fmt.Errorf("writing the export record on the broker: %w", err)
	}
	return nil
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

func (c *Controller) applyConditions(ctx context.Context, own local.Own, endpoints status.Outcome, wanted []metav1.Condition) error {
	stands, transitions, err := status.ApplyExport(ctx, c.local, own.Export, names.ManagerExport, wanted...)
	if !stands {
		return err
	}
	for _, t := range transitions {
		eventType := corev1.EventTypeNormal
		if t.Condition.Status == metav1.ConditionFalse && t.Condition.Reason != string(mcsv1beta1.ServiceExportReasonPending) {
			eventType = corev1.EventTypeWarning
		}
		status.Say(c.recorder, own.Export, nil, eventType, t.Condition.Reason, "Export", t.Condition.Message)
	}
	for _, r := range unsaid(own.Export, wanted, endpoints.Remarks) {
		status.Say(c.recorder, own.Export, nil, corev1.EventTypeWarning, r.Reason, "Export", r.Message)
	}
	return nil
}
