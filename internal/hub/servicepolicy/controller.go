// Package servicepolicy writes the ServicePolicies that describe MultiClusterServices to agents, and the conditions of
// MultiClusterServices.
package servicepolicy

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// reconciler writes policies and the conditions that describe them.
type reconciler struct {
	client      client.Client
	live        client.Reader
	clusterset  string
	border      *border.Border
	permissions func() permissions.Members
	removed     func(names.ClusterID) bool
	recorder    events.EventRecorder
	// withdrawn are the policies that are withdrawn, unwritten those that cannot be written.
	withdrawn, unwritten kit.Since[types.NamespacedName]
	failed               *Failed
	// left says of members whether they had left when that was last asked.
	left sync.Map
}

// Failed are the MultiClusterServices whose policies could not be written when that was last tried. The zero value is empty.
type Failed struct{ services sync.Map }

// Has reports whether a service's policy could not be written.
func (f *Failed) Has(service types.NamespacedName) bool {
	_, has := f.services.Load(service)
	return has
}

func (f *Failed) set(service types.NamespacedName, failed bool) {
	if failed {
		f.services.Store(service, nil)
	} else {
		f.services.Delete(service)
	}
}

// New returns the controller. It reads from the cache, whose border is b, and with live past the cache. It writes to
// the clusterset's namespace, in which members may export what v says when it is known, and notes what cannot be written there.
// changes are v's.
func New(c client.Client, live client.Reader, from cache.Cache, clusterset string, b *border.Border, v *view.View, known <-chan struct{}, changes *kit.Changes[kit.Scope], failed *Failed, recorder events.EventRecorder) (controller.Controller, error) {
	r := &reconciler{client: c, live: live, clusterset: clusterset, border: b, permissions: v.Permissions, removed: v.Removed, failed: failed, recorder: recorder}
	return kit.New("servicepolicy", r,
		kit.Watch(from, &networkingv1alpha1.MultiClusterService{}, kit.Same[*networkingv1alpha1.MultiClusterService]),
		kit.Watch(from, &brokerv1alpha1.ServicePolicy{}, func(_ context.Context, e kit.Event[*brokerv1alpha1.ServicePolicy]) []reconcile.Request {
			return []reconcile.Request{{NamespacedName: e.Latest().Spec.Service()}}
		}),
		kit.Watch(from, &corev1.Service{}, func(ctx context.Context, e kit.Event[*corev1.Service]) []reconcile.Request {
			return r.known(ctx, client.ObjectKeyFromObject(e.Latest()))
		}),
		kit.Watch(from, &brokerv1alpha1.ExportedService{}, r.record),
		kit.WaitFor[reconcile.Request]("the first list of the members' objects on the broker", known),
		kit.On(changes, func(ctx context.Context, s kit.Scope) []reconcile.Request {
			if s != (kit.Scope{}) && !r.leavesOrJoins(s) {
				return nil // records have events of their own
			}
			return r.all(ctx)
		}),
	)
}

// leavesOrJoins reports whether a change is a member's that joins, leaves, or joins again.
func (r *reconciler) leavesOrJoins(s kit.Scope) bool {
	if s != (kit.Scope{Member: s.Member}) {
		return false
	}
	now := r.removed(s.Member)
	before, known := r.left.Swap(s.Member, now)
	return !known || before != now
}

// record maps an ExportedService that starts or stops to count, or that is exported to others.
func (r *reconciler) record(ctx context.Context, e kit.Event[*brokerv1alpha1.ExportedService]) []reconcile.Request {
	if e.Old != nil && e.New != nil {
		before, why := r.border.State(e.Old)
		now, whyNow := r.border.State(e.New)
		if before == now && why == whyNow && e.Old.Spec.Scope == e.New.Spec.Scope {
			return nil
		}
	}
	return r.known(ctx, e.Latest().Spec.Service())
}

// keepWithdrawn is how long a withdrawn policy stays on the broker, so that members see the withdrawal.
const keepWithdrawn = 10 * time.Minute

// known maps a Service to its MultiClusterService. Most Services have none.
func (r *reconciler) known(ctx context.Context, service types.NamespacedName) []reconcile.Request {
	if r.client.Get(ctx, service, &networkingv1alpha1.MultiClusterService{}) != nil {
		return nil // its creation is an event of its own
	}
	return []reconcile.Request{{NamespacedName: service}}
}

// all returns all MultiClusterServices, because any may name the changed member.
func (r *reconciler) all(ctx context.Context) []reconcile.Request {
	list := &networkingv1alpha1.MultiClusterServiceList{}
	if r.client.List(ctx, list, client.UnsafeDisableDeepCopy) != nil {
		return nil // a synced cache fails only when the hub stops
	}
	var requests []reconcile.Request
	for i := range list.Items {
		requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
	}
	return requests
}

// Reconcile updates the policy and the conditions of one MultiClusterService. A failed write concerns no other one.
func (r *reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	s, err := r.gather(ctx, req.NamespacedName)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading the objects of MultiClusterService %s: %w", req, err)
	}
	again, failure := r.apply(ctx, req.NamespacedName, s.mcs)
	out := kit.OutcomeOf(failure)
	known := r.note(req.NamespacedName, out)
	result, err := out.Result("writing the ServicePolicy of MultiClusterService %s", req)
	if known && s.mcs != nil {
		if s.refusal = out.Refusal; s.refusal == "" && !out.Done() {
			s.unwritten = failure.Error()
		}
		written, writeErr := r.writeConditions(ctx, s)
		if err = errors.Join(err, writeErr); err == nil && written.RequeueAfter > 0 {
			return written, nil
		}
	}
	if err == nil && result.RequeueAfter == 0 && again > 0 {
		result = kit.After(again)
	}
	return result, err
}

// note records the outcome of writing a policy. It returns whether the outcome is known: a failure that may end soon is not. The
// API server's refusal counts at once. status.FailedAfter is shorter than the Comparer's patience: an object that fails must not
// make the hub rebuild its caches.
func (r *reconciler) note(key types.NamespacedName, out kit.Outcome) (known bool) {
	if out.Done() {
		r.unwritten.Over(key)
		r.failed.set(key, false)
		return true
	}
	lasts := r.unwritten.For(key, time.Now()) >= status.FailedAfter
	if out.Failure() != "" || lasts { // a conflict says nothing about the policy, unless it lasts
		r.failed.set(key, true)
	}
	return out.Refusal != "" || lasts
}

// writeConditions writes the conditions, and says when to try again if they cannot be written.
func (r *reconciler) writeConditions(ctx context.Context, s state) (reconcile.Result, error) {
	err := r.applyConditions(ctx, s)
	if apierrors.IsConflict(err) {
		return kit.Behind(), nil
	}
	out := kit.OutcomeOf(err)
	if out.Refusal != "" { // no condition can say it
		status.Say(r.recorder, s.mcs, nil, corev1.EventTypeWarning, "StatusRefused", "Expose", fmt.Sprintf(
			"The API server rejects the status of this MultiClusterService. Its conditions are out of date. The hub retries every 20 to 30 seconds. The API server's message: %s", out.Refusal))
	}
	return out.Result("writing the conditions of MultiClusterService %s/%s", s.mcs.Namespace, s.mcs.Name)
}

// gather reads the state. A MultiClusterService under deletion counts as gone.
func (r *reconciler) gather(ctx context.Context, key types.NamespacedName) (state, error) {
	var s state
	mcs, err := kit.Get(ctx, r.client, key, &networkingv1alpha1.MultiClusterService{})
	if err != nil || mcs == nil || mcs.DeletionTimestamp != nil {
		return s, err
	}
	s.mcs = mcs
	if s.service, err = kit.Get(ctx, r.client, key, &corev1.Service{}); err != nil {
		return s, err
	}
	members, permitted := &brokerv1alpha1.MemberClusterList{}, r.permissions()
	if err := r.client.List(ctx, members, client.InNamespace(r.clusterset), client.UnsafeDisableDeepCopy); err != nil {
		return s, err
	}
	for i := range members.Items {
		id := members.Items[i].Name
		if r.removed(names.ClusterID(id)) {
			continue
		}
		s.members = append(s.members, id)
		name := client.ObjectKey{Namespace: r.clusterset, Name: names.Export(names.ClusterID(id), key.Namespace, key.Name)}
		record, err := kit.Get(ctx, r.client, name, &brokerv1alpha1.ExportedService{})
		if err != nil {
			return s, err
		}
		if record != nil {
			r.addRecord(&s, names.ClusterID(id), record, permitted)
		}
	}
	for _, list := range [][]string{s.exporters, s.users, s.ignored} {
		slices.Sort(list)
	}
	return s, nil
}

// addRecord counts a member's export, or says why it does not count.
func (r *reconciler) addRecord(s *state, id names.ClusterID, record *brokerv1alpha1.ExportedService, permitted permissions.Members) {
	switch state, detail := r.border.State(record); {
	case state == border.Refused:
		s.ignored = append(s.ignored, fmt.Sprintf("cluster %q: the export is invalid (%s)", id, detail))
	case state != border.Full:
	case !permitted.MayExport(id, s.mcs.Namespace):
		s.ignored = append(s.ignored, fmt.Sprintf("cluster %q: the broker does not permit the cluster to export namespace %s (to see the permissions, run: %s)",
			id, s.mcs.Namespace, command.Broker.Atoll("broker members list %s --clusterset %s", id, r.clusterset)))
	default:
		s.exporters = append(s.exporters, id.String())
		if record.Spec.Scope != brokerv1alpha1.ScopeHub {
			s.users = append(s.users, id.String())
		}
	}
}

// apply makes the policy match mcs, which may be nil, and returns the time until the next reconciliation.
func (r *reconciler) apply(ctx context.Context, key types.NamespacedName, mcs *networkingv1alpha1.MultiClusterService) (again time.Duration, _ error) {
	name := names.ServicePolicy(key.Namespace, key.Name)
	have, err := kit.Get(ctx, r.client, client.ObjectKey{Namespace: r.clusterset, Name: name}, &brokerv1alpha1.ServicePolicy{})
	if err != nil {
		return 0, err
	}
	if mcs == nil && have != nil && layout.Withdrawn(have) {
		if again = keepWithdrawn - r.withdrawn.For(key, time.Now()); again > 0 {
			return again, nil
		}
		return 0, kit.Delete(ctx, r.client, have)
	}
	r.withdrawn.Over(key)
	want := have.DeepCopy()
	switch {
	case mcs == nil && have == nil:
		return 0, nil
	case mcs == nil:
		layout.Withdraw(want)
	case have == nil:
		want = &brokerv1alpha1.ServicePolicy{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: r.clusterset, Name: name,
				Labels: map[string]string{names.LabelServiceNamespace: key.Namespace, names.LabelServiceName: key.Name},
			},
			Spec: project(mcs),
		}
		layout.SetRevision(want, 0, mcs)
	default:
		if want.Spec = project(mcs); !layout.Withdrawn(have) && equality.Semantic.DeepEqual(have.Spec, want.Spec) {
			return 0, nil
		}
		layout.SetWithdrawn(want, false)
		layout.SetRevision(want, layout.Revision(have), mcs)
	}
	return 0, kit.Apply(ctx, r.client, r.live, have, want, false)
}

func (r *reconciler) applyConditions(ctx context.Context, s state) error {
	before, want := s.mcs.Status.Conditions, s.conditions()
	list, written, _, err := status.Conditions(before, s.mcs.Generation, want...)
	if err != nil || !written {
		return err
	}
	kind := networkingv1alpha1.GroupVersion.WithKind(networkingv1alpha1.MultiClusterServiceKind)
	if err := status.Own(ctx, r.client, kind, s.mcs, map[string]any{"conditions": list}, names.ManagerHub); err != nil {
		return err
	}
	for _, condition := range changedConditions(before, want) {
		eventType := corev1.EventTypeNormal
		if condition.Status == metav1.ConditionFalse {
			eventType = corev1.EventTypeWarning
		}
		status.Say(r.recorder, s.mcs, nil, eventType, condition.Reason, "Expose", condition.Message)
	}
	return nil
}
