// Package servicepolicy keeps the ServicePolicies of a clusterset, by which the members' agents
// know of MultiClusterServices, and the conditions of these that say what comes of it.
package servicepolicy

import (
	"context"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/permissions"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller is the hub's controller of policies.
type Controller struct {
	writer      controllers.Writer
	reader      client.Reader
	clusterset  string
	border      *border.Border
	permissions func() permissions.Members
	recorder    events.EventRecorder
	newest      controllers.Newest[*networkingv1alpha1.MultiClusterService]
	policies    controllers.Newest[*brokerv1alpha1.ServicePolicy]
	withdrawn   kit.Since[types.NamespacedName]
}

// NewController returns a controller that writes to the clusterset's namespace, in which members may export what permitted says. b is the border of its cache.
func NewController(writer controllers.Writer, clusterset string, b *border.Border, permitted func() permissions.Members, recorder events.EventRecorder) *Controller {
	return &Controller{writer: writer, reader: writer.Client, clusterset: clusterset, border: b, permissions: permitted, recorder: recorder}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "servicepolicy" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&networkingv1alpha1.MultiClusterService{}, builder.WithPredicates(predicate.Funcs{UpdateFunc: c.matters})).
		Watches(&brokerv1alpha1.ServicePolicy{}, handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: o.(*brokerv1alpha1.ServicePolicy).Spec.Service()}}
		})).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return c.known(ctx, client.ObjectKeyFromObject(o))
		})).
		Watches(&brokerv1alpha1.ExportedService{}, handler.EnqueueRequestsFromMapFunc(func(ctx context.Context, o client.Object) []reconcile.Request {
			return c.known(ctx, o.(*brokerv1alpha1.ExportedService).Spec.Service())
		}), builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			before, _ := c.border.State(e.ObjectOld)
			now, _ := c.border.State(e.ObjectNew)
			return before != now
		}})).
		Watches(&brokerv1alpha1.MemberCluster{}, handler.EnqueueRequestsFromMapFunc(c.all), builder.WithPredicates(predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
			return e.ObjectOld.(*brokerv1alpha1.MemberCluster).Removed() != e.ObjectNew.(*brokerv1alpha1.MemberCluster).Removed()
		}})).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(c.all)).
		WithOptions(kit.Options[reconcile.Request]()).
		Complete(c)
}

// keepWithdrawn is how long a withdrawn policy stays on the broker. That it is withdrawn tells the members.
const keepWithdrawn = 10 * time.Minute

// matters tells whether a change of a MultiClusterService is one of what this controller goes by, or of its own conditions by
// somebody else.
func (c *Controller) matters(e event.UpdateEvent) bool {
	before, now := e.ObjectOld.(*networkingv1alpha1.MultiClusterService), e.ObjectNew.(*networkingv1alpha1.MultiClusterService)
	return before.Generation != now.Generation || before.UID != now.UID || (before.DeletionTimestamp == nil) != (now.DeletionTimestamp == nil) ||
		c.newest.News(now) && !equality.Semantic.DeepEqual(owned(before), owned(now))
}

// owned are those of the conditions that this controller owns.
func owned(mcs *networkingv1alpha1.MultiClusterService) (conditions []*metav1.Condition) {
	for _, kind := range []string{networkingv1alpha1.ConditionServiceFound, networkingv1alpha1.ConditionClustersFound, networkingv1alpha1.ConditionExported} {
		conditions = append(conditions, meta.FindStatusCondition(mcs.Status.Conditions, kind))
	}
	return conditions
}

// known maps a service to its MultiClusterService, which most have not.
func (c *Controller) known(ctx context.Context, service types.NamespacedName) []reconcile.Request {
	if c.reader.Get(ctx, service, &networkingv1alpha1.MultiClusterService{}) != nil {
		return nil // if it comes, that is an event
	}
	return []reconcile.Request{{NamespacedName: service}}
}

// all returns all MultiClusterServices: any of them may be about a member that changes.
func (c *Controller) all(ctx context.Context, _ client.Object) []reconcile.Request {
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if c.reader.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return nil // a cache that is synced does not fail before the hub ends
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile brings the policy and the conditions of one MultiClusterService up to date.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, err := c.gather(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("gathering what there is of MultiClusterService %s: %w", req, err)
	}
	again, err := c.apply(ctx, req.NamespacedName, s.mcs)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("writing the policy of MultiClusterService %s: %w", req, err)
	}
	if s.mcs == nil {
		c.newest.Forget(req.NamespacedName)
		return reconcile.Result{RequeueAfter: again}, nil
	}
	return reconcile.Result{}, c.applyConditions(ctx, s)
}

// gather reads what there is. A MultiClusterService that is about to go counts as gone.
func (c *Controller) gather(ctx context.Context, key types.NamespacedName) (state, error) {
	var s state
	mcs, service := &networkingv1alpha1.MultiClusterService{}, &corev1.Service{}
	if err := c.reader.Get(ctx, key, mcs); err != nil {
		return s, client.IgnoreNotFound(err)
	}
	if mcs = c.newest.Of(mcs); mcs.DeletionTimestamp != nil {
		return s, nil
	}
	s.mcs = mcs
	switch err := c.reader.Get(ctx, key, service); {
	case err == nil:
		s.service = service
	case !apierrors.IsNotFound(err):
		return s, err
	}
	members, permitted := &brokerv1alpha1.MemberClusterList{}, c.permissions()
	if err := c.reader.List(ctx, members, client.InNamespace(c.clusterset), client.UnsafeDisableDeepCopy); err != nil {
		return s, err
	}
	for i := range members.Items {
		if members.Items[i].Removed() {
			continue
		}
		id := members.Items[i].Name
		s.members = append(s.members, id)
		record := &brokerv1alpha1.ExportedService{}
		name := client.ObjectKey{Namespace: c.clusterset, Name: names.Export(names.ClusterID(id), key.Namespace, key.Name)}
		switch err := c.reader.Get(ctx, name, record); {
		case err == nil:
			if state, _ := c.border.State(record); state == border.Full && permitted.MayExport(names.ClusterID(id), key.Namespace) {
				s.exporters = append(s.exporters, id)
			}
		case !apierrors.IsNotFound(err):
			return s, err
		}
	}
	slices.Sort(s.exporters)
	return s, nil
}

// apply makes the policy what the MultiClusterService says, of which there may be none, and returns when it is to be looked at again.
func (c *Controller) apply(ctx context.Context, key types.NamespacedName, mcs *networkingv1alpha1.MultiClusterService) (again time.Duration, _ error) {
	have, err := c.policy(ctx, client.ObjectKey{Namespace: c.clusterset, Name: names.Aggregate(key.Namespace, key.Name)})
	switch {
	case err != nil, mcs == nil && have == nil:
		return 0, err
	case mcs == nil && layout.Withdrawn(have):
		if again = keepWithdrawn - c.withdrawn.For(key, time.Now()); again > 0 {
			return again, nil
		}
		c.withdrawn.Over(key)
		if err := c.writer.Delete(ctx, have); err != nil {
			return 0, err
		}
		c.policies.Deleted(have)
		return 0, nil
	case mcs == nil:
		layout.Withdraw(have)
		again, err = keepWithdrawn, c.writer.Update(ctx, have)
	case have == nil:
		have = &brokerv1alpha1.ServicePolicy{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: c.clusterset, Name: names.Aggregate(key.Namespace, key.Name),
				Labels: map[string]string{names.LabelServiceNamespace: key.Namespace, names.LabelServiceName: key.Name},
			},
			Spec: project(mcs),
		}
		layout.SetRevision(have, 0, mcs)
		err = c.writer.Create(ctx, have)
	default:
		want := project(mcs)
		if !layout.Withdrawn(have) && equality.Semantic.DeepEqual(have.Spec, want) {
			return 0, nil
		}
		have.Spec = want
		layout.SetWithdrawn(have, false)
		layout.SetRevision(have, layout.Revision(have), mcs)
		err = c.writer.Update(ctx, have)
	}
	if mcs != nil {
		c.withdrawn.Over(key)
	}
	if err == nil {
		c.policies.Wrote(have)
	}
	return again, err
}

// policy returns the policy that there is, or nil. One that was written and is not shown yet, or not any more, is asked for.
func (c *Controller) policy(ctx context.Context, key client.ObjectKey) (*brokerv1alpha1.ServicePolicy, error) {
	have := &brokerv1alpha1.ServicePolicy{}
	err := c.reader.Get(ctx, key, have)
	switch {
	case err == nil && c.policies.Gone(have):
		return nil, nil
	case err == nil:
		return c.policies.Of(have), nil
	case apierrors.IsNotFound(err) && c.policies.Forget(key):
		err = c.writer.Reader.Get(ctx, key, have)
	}
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return have, err
}

func (c *Controller) applyConditions(ctx context.Context, s state) error {
	before, want := s.mcs.Status.Conditions, s.conditions()
	list, written, _, err := status.Conditions(before, s.mcs.Generation, want...)
	if err != nil || !written {
		return err
	}
	kind := networkingv1alpha1.GroupVersion.WithKind(networkingv1alpha1.MultiClusterServiceKind)
	if there, err := status.Own(ctx, c.writer.Client, kind, s.mcs, map[string]any{"conditions": list}, names.ManagerHub); !there {
		return err
	}
	c.newest.Wrote(s.mcs)
	for _, said := range news(before, want) {
		eventType := corev1.EventTypeNormal
		if said.Status == metav1.ConditionFalse {
			eventType = corev1.EventTypeWarning
		}
		status.Say(c.recorder, s.mcs, nil, eventType, said.Reason, "Expose", said.Message)
	}
	return nil
}
