// Package policyexport creates and deletes the ServiceExports that the hub's policies request.
package policyexport

import (
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Reconciler writes ServiceExports.
type Reconciler struct {
	cluster  *inputs.Cluster
	recorder events.EventRecorder
	// checked are the resource versions of ServiceExports that no user has applied.
	checked sync.Map
}

// New returns the controller, which reads this cluster from the given cache.
func New(c *inputs.Cluster, member cache.Cache, recorder events.EventRecorder) (controller.Controller, error) {
	r := &Reconciler{cluster: c, recorder: recorder}
	return kit.New("policyexport", r,
		kit.Watch(member, &mcsv1beta1.ServiceExport{}, kit.Same[*mcsv1beta1.ServiceExport]),
		kit.Watch(member, &corev1.Service{}, kit.Same[*corev1.Service]),
		c.OnOwnChanges(r.all),
	)
}

// all returns the services that have a policy or a ServiceExport.
func (r *Reconciler) all(ctx context.Context) []reconcile.Request {
	exports, err := local.ServiceExports(ctx, r.cluster.Client)
	if err != nil {
		return nil // the cache has stopped
	}
	return append(exports, r.cluster.ServicesWithPolicy()...)
}

// Reconcile creates or deletes the ServiceExport of one service.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	if !r.cluster.View.Known() {
		return reconcile.Result{}, nil // everything is queued when it is
	}
	in, err := r.gather(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, err
	}
	if in.export == nil {
		r.checked.Delete(req.NamespacedName)
	}
	var out kit.Outcome
	switch decide(in, r.cluster.ID) {
	case create:
		if out = kit.OutcomeOf(r.create(ctx, req.NamespacedName)); out.Refusal != "" {
			status.Say(r.recorder, in.service, nil, corev1.EventTypeWarning, "ExportRefused", "Export", fmt.Sprintf(
				"A MultiClusterService exports this Service, but this cluster's API server rejects the ServiceExport. The agent retries every 20 to 30 seconds. The API server's message: %s", out.Refusal))
		}
	case annotate:
		if out = kit.OutcomeOf(r.keep(ctx, in.export)); out.Refusal != "" {
			status.Say(r.recorder, in.export, nil, corev1.EventTypeWarning, "ExportRefused", "Export", fmt.Sprintf(
				"The MultiClusterService of this ServiceExport has changed, but this cluster's API server rejects the update of the ServiceExport. The agent retries every 20 to 30 seconds. The API server's message: %s", out.Refusal))
		}
	case remove:
		if out = kit.OutcomeOf(r.remove(ctx, in.export)); out.Refusal != "" {
			status.Say(r.recorder, in.export, nil, corev1.EventTypeWarning, "DeletionRefused", "Unexport", fmt.Sprintf(
				"No MultiClusterService requires this ServiceExport any longer, but this cluster's API server rejects its deletion. The agent retries every 20 to 30 seconds. The API server's message: %s", out.Refusal))
		}
	}
	return out.Result("writing ServiceExport %s", req)
}

func (r *Reconciler) gather(ctx context.Context, name types.NamespacedName) (in inputsOf, err error) {
	in.policy, in.known = r.cluster.View.Policy(name)
	if in.export, err = kit.Get(ctx, r.cluster.Client, name, &mcsv1beta1.ServiceExport{}); err != nil {
		return in, fmt.Errorf("reading ServiceExport %s: %w", name, err)
	}
	if in.service, err = kit.Get(ctx, r.cluster.Client, name, &corev1.Service{}); err != nil {
		return in, fmt.Errorf("reading Service %s: %w", name, err)
	}
	if b := r.cluster.Broker(); b == nil { // everything is queued when the broker is reached
		in.recorded = true
	} else if in.service == nil && in.export != nil {
		record, err := b.Record(ctx, r.cluster.Clusterset, r.cluster.ID, name) // its change queues the service
		if err != nil {
			return in, fmt.Errorf("reading the ExportedService of %s: %w", name, err)
		}
		in.recorded = record != nil && !layout.Withdrawn(record)
	}
	return in, nil
}

func (r *Reconciler) create(ctx context.Context, service types.NamespacedName) error {
	err := r.cluster.Client.Create(ctx, &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{
		Namespace: service.Namespace, Name: service.Name, Labels: map[string]string{names.LabelManagedBy: names.AgentManager},
		Annotations: r.cluster.Because(service),
	}}, client.FieldOwner(names.ManagerPolicy))
	if apierrors.IsAlreadyExists(err) {
		return nil // the next event continues
	}
	return err
}

// because records in a ServiceExport the policy that it was made for.
func (r *Reconciler) because(ctx context.Context, have *mcsv1beta1.ServiceExport) error {
	updated := have.DeepCopy()
	if updated.Annotations == nil {
		updated.Annotations = map[string]string{}
	}
	maps.Copy(updated.Annotations, r.cluster.Because(client.ObjectKeyFromObject(have)))
	if maps.Equal(updated.Annotations, have.Annotations) {
		return nil
	}
	patch := client.MergeFromWithOptions(have, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.cluster.Client.Patch(ctx, updated, patch, client.FieldOwner(names.ManagerPolicy)))
}

// remove deletes a ServiceExport that was made for a policy. If a user has applied it since, it belongs to that user.
func (r *Reconciler) remove(ctx context.Context, have *mcsv1beta1.ServiceExport) error {
	export, err := kit.Get(ctx, r.cluster.Live, client.ObjectKeyFromObject(have), &mcsv1beta1.ServiceExport{}) // with its managed fields
	if err != nil || export == nil || export.UID != have.UID || !contribution.ByPolicy(export) {
		return err // its change is the next event
	}
	if !contribution.AlsoApplied(export) {
		return kit.Delete(ctx, r.cluster.Client, export)
	}
	return r.release(ctx, export)
}

// keep records the policy in a ServiceExport, unless a user has applied the ServiceExport, too: then it is that user's, and
// exports the Service to the clusterset even if the policy exports it to load balancers alone.
func (r *Reconciler) keep(ctx context.Context, have *mcsv1beta1.ServiceExport) error {
	name := client.ObjectKeyFromObject(have)
	if version, _ := r.checked.Load(name); version != have.ResourceVersion {
		export, err := kit.Get(ctx, r.cluster.Live, name, &mcsv1beta1.ServiceExport{}) // with its managed fields
		if err != nil || export == nil {
			return err
		}
		if contribution.ByPolicy(export) && contribution.AlsoApplied(export) {
			return r.release(ctx, export)
		}
		r.checked.Store(name, export.ResourceVersion)
	}
	return r.because(ctx, have)
}

// release makes a ServiceExport the user's.
func (r *Reconciler) release(ctx context.Context, export *mcsv1beta1.ServiceExport) error {
	released := export.DeepCopy()
	contribution.Release(released)
	patch := client.MergeFromWithOptions(export, client.MergeFromWithOptimisticLock{})
	return client.IgnoreNotFound(r.cluster.Client.Patch(ctx, released, patch, client.FieldOwner(names.ManagerPolicy)))
}
