// Package service writes the derived Service of each ServiceImport: a Service without a selector that has the
// clusterset IP. A Service with clusterset IPs remains as long as its import, even while the import is headless and has
// a second, headless Service (docs/adr/0025-how-long-an-address-lives.md).
package service

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// Reconciler writes derived Services.
type Reconciler struct {
	cluster  *inputs.Cluster
	recorder events.EventRecorder
	problems *status.Problems
	// limits are those of this cluster's Service addresses.
	limits *share.Addresses
	// refused are the traffic distribution values that this cluster's API server has refused since the agent started.
	// Its version is not enough to tell: a feature gate decides too.
	refused sync.Map
	// replaced is when a Service was last deleted because of its endpoints (time.Time), by the import's name.
	replaced sync.Map
	// addresses are those of Services that were deleted because of their endpoints, by the import's name.
	addresses sync.Map
	// renaming are the imports whose Service waits for its slices to have new names of ports.
	renaming kit.Since[types.NamespacedName]
}

// New returns the controller.
func New(c *inputs.Cluster, member cache.Cache, limits *share.Addresses, recorder events.EventRecorder, problems *status.Problems) (controller.Controller, error) {
	r := &Reconciler{cluster: c, limits: limits, recorder: recorder, problems: problems}
	return kit.New("service", r,
		c.OnOwnChanges(func(ctx context.Context) []reconcile.Request { return r.imports(ctx) }), // without one in the ServiceImport
		kit.Watch(member, &mcsv1beta1.ServiceImport{}, func(ctx context.Context, e kit.Event[*mcsv1beta1.ServiceImport]) []reconcile.Request {
			if e.Initial && len(e.New.Spec.IPs) > 0 { // before any other gets an address
				limits.Has(client.ObjectKeyFromObject(e.New), slices.Collect(maps.Keys(layout.Applied(e.New))))
			}
			return kit.Same(ctx, e)
		}),
		kit.Watch(member, &corev1.Service{}, func(_ context.Context, e kit.Event[*corev1.Service]) []reconcile.Request {
			limits.Service(addressesOf(e.Old), addressesOf(e.New))
			if imp := imported.Of(e.Latest()); imp.Name != "" {
				return []reconcile.Request{{NamespacedName: imp}}
			}
			if e.Old != nil && e.New != nil && !ptr.Equal(e.Old.Spec.InternalTrafficPolicy, e.New.Spec.InternalTrafficPolicy) {
				return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(e.New)}} // it may be exported
			}
			return nil
		}),
		kit.Watch(member, &discoveryv1.EndpointSlice{}, r.slice),
		kit.Watch(member, &corev1.Namespace{}, r.namespace),
	)
}

// namespace maps a namespace whose labels and annotations for derived Services change to its imports.
func (r *Reconciler) namespace(ctx context.Context, e kit.Event[*corev1.Namespace]) []reconcile.Request {
	if e.Old == nil || e.New == nil || e.Old.Annotations[names.AnnotationServiceMetadata] == e.New.Annotations[names.AnnotationServiceMetadata] {
		return nil
	}
	return r.imports(ctx, client.InNamespace(e.New.Name))
}

func (r *Reconciler) imports(ctx context.Context, in ...client.ListOption) []reconcile.Request {
	imports, err := local.ServiceImports(ctx, r.cluster.Client, in...)
	if err != nil {
		return nil // the cache has stopped
	}
	return imports
}

// Reconcile creates, updates or deletes the derived Services of one import.
func (r *Reconciler) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	have := &mcsv1beta1.ServiceImport{}
	if err := r.cluster.Client.Get(ctx, req.NamespacedName, have, client.UnsafeDisableDeepCopy); client.IgnoreNotFound(err) != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req, err)
	}
	if have.UID != "" && (have.DeletionTimestamp != nil || !ownership.IsManaged(have)) {
		return reconcile.Result{}, nil
	}
	want, exported, err := have, local.Exported{}, error(nil)
	if have.UID != "" {
		if want, exported, err = imported.Current(ctx, r.cluster, have); err != nil {
			return reconcile.Result{}, fmt.Errorf("reading the exports of %s: %w", req, err)
		}
		want = derived.Unconfined(want, r.cluster.ID, exported.Imported)
	}
	warnings, err := r.apply(ctx, req.NamespacedName, want, exported)
	out := kit.OutcomeOf(err)
	problem := status.ProblemOf(out, warnings...)
	if have.UID == "" {
		problem = status.Problem{}
		r.addresses.Delete(req.NamespacedName)
		r.limits.Release(req.NamespacedName)
	}
	r.problems.Set(req.NamespacedName, status.Part{}, problem)
	return out.Result("writing the derived Service of %s", req)
}

// apply writes the difference. have has no UID if there is no import.
func (r *Reconciler) apply(ctx context.Context, name types.NamespacedName, have *mcsv1beta1.ServiceImport, exported local.Exported) (warnings []status.Warning, _ error) {
	headless := have.Spec.Type == mcsv1beta1.Headless
	switch {
	case have.UID == "":
		return nil, errors.Join(r.remove(ctx, name, false), r.remove(ctx, name, true))
	case len(have.Spec.IPFamilies) == 0 || derived.Portless(have):
		r.limits.NeedsNone(name)
		return nil, r.remove(ctx, name, true) // the one with clusterset IPs remains, to keep its addresses reserved
	}
	service, free, err := imported.Service(ctx, r.cluster.Client, name, headless)
	switch {
	case err != nil:
		return nil, err
	case service == nil && free == "":
		return nil, &kit.TakenError{Kind: "Service", Namespace: name.Namespace, Name: names.DerivedServices(name.Name, headless)[0]}
	case service == nil:
		if refusal := r.refusal(have, exported); refusal != "" {
			return nil, kit.LimitError(refusal)
		}
		warnings, err = r.withDistribution(have, func(imp *mcsv1beta1.ServiceImport) error {
			return r.cluster.Stages.Do(kit.Usable, func() error { return r.create(ctx, imp, free) })
		})
		if err != nil {
			r.limits.Release(name) // the next attempt takes an address again
		}
	case service.DeletionTimestamp != nil:
		return nil, nil // the deletion's event continues
	case derived.MustReplace(service, headless):
		return nil, kit.Delete(ctx, r.cluster.Client, service)
	default:
		warnings, err = r.keep(ctx, name, have, service)
	}
	if err == nil && !headless {
		r.limits.Has(name, exporters(have, exported, r.cluster.ID))
		err = r.remove(ctx, name, true)
	}
	return warnings, err
}

// refusal returns why an import gets no Service addresses, or "".
func (r *Reconciler) refusal(imp *mcsv1beta1.ServiceImport, exported local.Exported) string {
	if imp.Spec.Type == mcsv1beta1.Headless {
		r.limits.NeedsNone(client.ObjectKeyFromObject(imp))
		return ""
	}
	return r.limits.Take(client.ObjectKeyFromObject(imp), imp.Spec.IPFamilies, exporters(imp, exported, r.cluster.ID))
}

// exporters returns the other members whose limit the address of an import counts for: none if this cluster exports the service.
func exporters(imp *mcsv1beta1.ServiceImport, exported local.Exported, self names.ClusterID) (ids []names.ClusterID) {
	for _, e := range exported.Imported {
		if e.ClusterID == self.String() {
			return nil
		}
		ids = append(ids, names.ClusterID(e.ClusterID))
	}
	if len(ids) == 0 { // the exports are unknown
		ids = slices.Sorted(maps.Keys(layout.Applied(imp)))
	}
	return ids
}

// addressesOf returns the cluster IPs of a Service, or nil if there is none.
func addressesOf(service *corev1.Service) []string {
	if service == nil {
		return nil
	}
	return service.Spec.ClusterIPs
}

// keep updates an existing derived Service, or deletes it with the endpoints that Kubernetes has made for it.
func (r *Reconciler) keep(ctx context.Context, name types.NamespacedName, imp *mcsv1beta1.ServiceImport, service *corev1.Service) ([]status.Warning, error) {
	foreign, err := r.foreign(ctx, service)
	if err != nil {
		return nil, err
	}
	wait := time.Duration(0)
	if len(service.Spec.Selector) > 0 || slices.ContainsFunc(foreign, isMadeByKubernetes) {
		last, _ := r.replaced.Load(name)
		at, _ := last.(time.Time)
		if wait = max(0, replacePause-time.Since(at)); wait == 0 {
			r.replaced.Store(name, time.Now())
			if service.Spec.ClusterIP != corev1.ClusterIPNone {
				r.addresses.Store(name, slices.Clone(service.Spec.ClusterIPs))
			}
			return nil, kit.Delete(ctx, r.cluster.Client, service) // its next event creates it with the same addresses
		}
	}
	warnings, err := r.withDistribution(imp, func(imp *mcsv1beta1.ServiceImport) error { return r.update(ctx, imp, service) })
	if len(foreign) > 0 {
		warnings = append(warnings, foreignEndpoints(foreign))
	}
	if err == nil {
		err = kit.Later(wait)
	}
	return warnings, err
}

func (r *Reconciler) update(ctx context.Context, imp *mcsv1beta1.ServiceImport, have *corev1.Service) error {
	allowed, err := r.cluster.ServiceMetadataIn(ctx, imp.Namespace)
	if err != nil {
		return err
	}
	updated := have.DeepCopy()
	derived.Apply(updated, imp, allowed)
	name := client.ObjectKeyFromObject(imp)
	if equality.Semantic.DeepEqual(have, updated) {
		r.renaming.Over(name)
		return nil
	}
	if renamed := renamedPorts(have, updated); len(renamed) > 0 {
		if left := renameDelay - r.renaming.For(name, time.Now()); left > 0 {
			pending, err := r.lackNames(ctx, name, renamed)
			if err != nil {
				return err
			}
			if pending { // the slices' events continue
				return kit.Later(left)
			}
		}
	}
	r.renaming.Over(name)
	return kit.Update(ctx, r.cluster.Client, updated)
}

// remove deletes a derived Service of an import: the headless one, or the one with clusterset IPs. After an import's
// deletion, the garbage collector would delete the Service later.
func (r *Reconciler) remove(ctx context.Context, imp types.NamespacedName, headless bool) error {
	service, _, err := imported.Service(ctx, r.cluster.Client, imp, headless)
	if err != nil || service == nil || service.DeletionTimestamp != nil {
		return err
	}
	return kit.Delete(ctx, r.cluster.Client, service)
}

// sayTaken reports that the derived Service does not have its usual name.
func (r *Reconciler) sayTaken(imp *mcsv1beta1.ServiceImport, name string) {
	usual := names.DerivedServices(imp.Name, imp.Spec.Type == mcsv1beta1.Headless)[0]
	if name == usual {
		return
	}
	others := &corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Namespace: imp.Namespace, Name: usual}}
	status.Say(r.recorder, imp, others, corev1.EventTypeWarning, "NameTaken", "Import", fmt.Sprintf(
		"Another tool or person created Service %s, so the derived Service is named %s.", usual, name))
}
