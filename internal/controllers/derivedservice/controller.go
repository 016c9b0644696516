// Package derivedservice keeps the derived Service of each ServiceImport, and what the
// import takes from it: the clusterset IPs and the Service's name. How that went it tells the
// controller importstatus, which owns the import's status. A Service with clusterset IPs stays as long
// as the import does, also while it is headless and uses another one (docs/adr/0025-how-long-an-address-lives.md).
package derivedservice

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller keeps derived Services.
type Controller struct {
	local    client.Client
	writer   controllers.Writer
	recorder events.EventRecorder
	outcomes *status.Outcomes[types.NamespacedName]
	patched  sync.Map // of types.NamespacedName: the import's version from which it was written last
	fallback fallback
}

// NewController returns a controller that writes by writer. How it goes is noted in outcomes.
func NewController(writer controllers.Writer, recorder events.EventRecorder, outcomes *status.Outcomes[types.NamespacedName]) *Controller {
	return &Controller{local: writer.Client, writer: writer, recorder: recorder, outcomes: outcomes}
}

// Name is the controller's name in logs and metrics.
func (c *Controller) Name() string { return "derivedservice" }

// Register adds the controller to a manager.
func (c *Controller) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named(c.Name()).
		For(&mcsv1beta1.ServiceImport{}).
		Watches(&corev1.Service{}, handler.EnqueueRequestsFromMapFunc(importOf)).
		WithOptions(controllers.Options[reconcile.Request]()).
		Complete(c)
}

// importOf maps a derived Service to its import.
func importOf(_ context.Context, service client.Object) []reconcile.Request {
	labels := service.GetLabels()
	if labels[names.LabelManagedBy] == names.AgentManager {
		return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: service.GetNamespace(), Name: labels[names.LabelServiceName]}}}
	}
	for _, owner := range service.GetOwnerReferences() {
		if owner.Kind == mcsv1beta1.ServiceImportKindName {
			return []reconcile.Request{{NamespacedName: client.ObjectKey{Namespace: service.GetNamespace(), Name: owner.Name}}}
		}
	}
	return nil
}

// Reconcile brings the derived Service of one import up to date, and the import with it.
func (c *Controller) Reconcile(ctx context.Context, req reconcile.Request) (reconcile.Result, error) {
	imp := &mcsv1beta1.ServiceImport{}
	err := c.local.Get(ctx, req.NamespacedName, imp)
	if apierrors.IsNotFound(err) {
		c.outcomes.Forget(req.NamespacedName)
		c.patched.Delete(req.NamespacedName)
		return reconcile.Result{}, errors.Join(c.remove(ctx, req.NamespacedName, false), c.remove(ctx, req.NamespacedName, true))
	}
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("reading ServiceImport %s: %w", req, err)
	}
	if imp.DeletionTimestamp != nil || !local.Managed(imp) {
		return reconcile.Result{}, nil
	}
	if len(imp.Spec.IPFamilies) == 0 || derived.Portless(imp) {
		return reconcile.Result{}, c.suspend(ctx, imp)
	}
	service, remark, err := c.applyService(ctx, imp)
	if err != nil {
		c.note(req.NamespacedName, err)
		return reconcile.Result{}, err
	}
	if service == nil {
		c.await(req.NamespacedName)
		return reconcile.Result{}, nil // being replaced: its being gone is the next event
	}
	if err := ignoreOutdated(c.applyImport(ctx, imp, service.Name, derived.ClustersetIPs(service, imp.Spec.IPFamilies))); err != nil {
		c.note(req.NamespacedName, err)
		return reconcile.Result{}, err
	}
	if imp.Spec.Type != mcsv1beta1.Headless {
		if err := c.remove(ctx, req.NamespacedName, true); err != nil {
			return reconcile.Result{}, err
		}
	}
	c.outcomes.Set(req.NamespacedName, remark.outcome())
	return reconcile.Result{RequeueAfter: remark.again}, nil
}

// note keeps that the Service could not be written. What passes by trying again says nothing
// of one that was there before.
func (c *Controller) note(imp types.NamespacedName, err error) {
	if controllers.Refused(err) {
		c.outcomes.Set(imp, status.Outcome{Failure: err.Error()})
		return
	}
	c.await(imp)
}

// await notes that the Service can't be made yet, where nothing was noted before.
func (c *Controller) await(imp types.NamespacedName) {
	if _, known := c.outcomes.Get(imp); !known {
		c.outcomes.Set(imp, status.Outcome{Waiting: true})
	}
}

// suspend takes the derived Service out of use while the import can have none: it has no port, or no IP
// family in common with this cluster. A Service with clusterset IPs stays for later, as it does while the
// import is headless: it keeps the addresses from being given to somebody else.
func (c *Controller) suspend(ctx context.Context, imp *mcsv1beta1.ServiceImport) error {
	name := client.ObjectKeyFromObject(imp)
	c.outcomes.Forget(name)
	if err := c.remove(ctx, name, true); err != nil {
		return err
	}
	return ignoreOutdated(c.applyImport(ctx, imp, "", nil))
}

// remove deletes the derived Service of an import that has no use for it: the headless one or the one with
// the clusterset IPs. The garbage collector would too when the import is gone, but in its own time, and not
// before it has learnt of the kind.
func (c *Controller) remove(ctx context.Context, imp types.NamespacedName, headless bool) error {
	for _, name := range names.DerivedServices(imp.Name, headless) {
		service := &corev1.Service{}
		if err := c.local.Get(ctx, client.ObjectKey{Namespace: imp.Namespace, Name: name}, service); err != nil {
			if apierrors.IsNotFound(err) {
				continue
			}
			return fmt.Errorf("reading the derived Service %s/%s: %w", imp.Namespace, name, err)
		}
		if !derived.OwnedBy(service, imp.Name) || service.DeletionTimestamp != nil {
			continue
		}
		if err := c.writer.Delete(ctx, service); err != nil {
			return fmt.Errorf("deleting the derived Service %s/%s: %w", imp.Namespace, name, err)
		}
	}
	return nil
}

// applyService makes the derived Service what it should be, and returns it as it then
// is, or nil while it is being replaced.
func (c *Controller) applyService(ctx context.Context, imp *mcsv1beta1.ServiceImport) (*corev1.Service, remark, error) {
	have, others, err := c.find(ctx, imp)
	if err != nil {
		return nil, remark{}, fmt.Errorf("looking for the derived Service of %s/%s: %w", imp.Namespace, imp.Name, err)
	}
	if have.UID == "" {
		if gone, err := c.gone(ctx, imp); gone || err != nil {
			return nil, remark{}, err
		}
		created, remark, err := c.writeWithFallback(imp, func(imp *mcsv1beta1.ServiceImport) (*corev1.Service, error) { return c.create(ctx, imp, have) })
		if created != nil && others != nil {
			status.Say(c.recorder, imp, others, corev1.EventTypeWarning, "NameTaken", "Import", fmt.Sprintf(
				"Service %s was not made by Atoll and is left alone; the derived Service is named %s.", others.Name, created.Name))
		}
		return created, remark, err
	}
	if have.DeletionTimestamp != nil {
		return nil, remark{}, nil
	}
	if derived.MustReplace(have, imp.Spec.Type == mcsv1beta1.Headless) {
		if err := c.writer.Delete(ctx, have); err != nil {
			return nil, remark{}, fmt.Errorf("replacing the derived Service %s/%s: %w", have.Namespace, have.Name, err)
		}
		return nil, remark{}, nil
	}
	return c.writeWithFallback(imp, func(imp *mcsv1beta1.ServiceImport) (*corev1.Service, error) { return c.update(ctx, imp, have) })
}

func (c *Controller) update(ctx context.Context, imp *mcsv1beta1.ServiceImport, have *corev1.Service) (*corev1.Service, error) {
	updated := have.DeepCopy()
	derived.Apply(updated, imp)
	if equality.Semantic.DeepEqual(have, updated) {
		return have, nil
	}
	if err := c.writer.Update(ctx, updated); err != nil {
		return nil, fmt.Errorf("updating the derived Service %s/%s: %w", have.Namespace, have.Name, err)
	}
	return updated, nil
}

// gone tells whether an import is no more, whose derived Service is not there although it had
// one: this may be seen to go before the import is, and would be made once again.
func (c *Controller) gone(ctx context.Context, imp *mcsv1beta1.ServiceImport) (bool, error) {
	if imp.Annotations[names.AnnotationDerivedService] == "" {
		return false, nil
	}
	now := &mcsv1beta1.ServiceImport{}
	err := c.writer.Reader.Get(ctx, client.ObjectKeyFromObject(imp), now)
	if client.IgnoreNotFound(err) != nil {
		return false, fmt.Errorf("reading ServiceImport %s/%s: %w", imp.Namespace, imp.Name, err)
	}
	return err != nil || now.UID != imp.UID || now.DeletionTimestamp != nil, nil
}

// find returns the derived Service of the import's type, or an empty one of the name to give it. Where
// somebody else has a Service of the usual name, the name is another one, and others is the Service. One that is
// there keeps its name, and with it its address, whatever has become of the usual name since.
func (c *Controller) find(ctx context.Context, imp *mcsv1beta1.ServiceImport) (service, others *corev1.Service, err error) {
	free := ""
	for _, name := range names.DerivedServices(imp.Name, imp.Spec.Type == mcsv1beta1.Headless) {
		service := &corev1.Service{}
		err := c.local.Get(ctx, client.ObjectKey{Namespace: imp.Namespace, Name: name}, service)
		switch {
		case apierrors.IsNotFound(err):
			free = cmp.Or(free, name)
		case err != nil || derived.OwnedBy(service, imp.Name):
			return service, nil, err
		case free == "":
			others = service
		}
	}
	if free == "" {
		return nil, nil, controllers.TakenError{Kind: "Service", Namespace: imp.Namespace, Name: others.Name}
	}
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: imp.Namespace, Name: free}}, others, nil
}

// applyImport writes the name and the addresses of the Service into the import, or takes
// them out.
func (c *Controller) applyImport(ctx context.Context, imp *mcsv1beta1.ServiceImport, service string, ips []string) error {
	name := client.ObjectKeyFromObject(imp)
	last, written := c.patched.Load(name)
	onItsWay := written && last == imp.ResourceVersion
	if written && !onItsWay {
		c.patched.Delete(name) // the copy has moved on: should the version come again, it is not ours
	}
	if onItsWay || slices.Equal(imp.Spec.IPs, ips) && imp.Annotations[names.AnnotationDerivedService] == service {
		return nil
	}
	updated := imp.DeepCopy()
	updated.Spec.IPs = ips
	if service == "" {
		delete(updated.Annotations, names.AnnotationDerivedService)
	} else {
		metav1.SetMetaDataAnnotation(&updated.ObjectMeta, names.AnnotationDerivedService, service)
	}
	// Not if the import has changed meanwhile: from an old copy the same would be written twice.
	patch := client.MergeFromWithOptions(imp, client.MergeFromWithOptimisticLock{})
	if err := c.local.Patch(ctx, updated, patch, client.FieldOwner(names.ManagerVIP)); err != nil {
		return fmt.Errorf("writing the clusterset IPs of ServiceImport %s/%s: %w", imp.Namespace, imp.Name, err)
	}
	c.patched.Store(name, imp.ResourceVersion)
	return nil
}

// ignoreOutdated takes no error from a write to an import that has changed or gone meanwhile:
// its newer version is on its way.
func ignoreOutdated(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}
