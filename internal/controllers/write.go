package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
	"github.com/atoll-mcs/atoll/internal/urgency"
)

// Controllers decide on copies that may be some milliseconds old. A write that fails
// for that reason alone is no failure: the newer version is on its way, and with it
// the next attempt. The functions below report only what is one.

// Writer writes to an API server, and reads from it past any copy.
type Writer struct {
	Client client.Client
	Reader client.Reader
	// Broker tells that the server is the broker. In the own cluster what belongs in a namespace
	// that is being deleted is not missed; on the broker it is, for all members' namespaces
	// live in that one.
	Broker bool
}

// Create creates an object. One of the same name that is there already is either of
// our own making (it carries the same manager, source cluster and service), or somebody
// else's, which is an error and left alone. One of our own that somebody has edited so that it
// is not seen any more is taken back.
func (w Writer) Create(ctx context.Context, object client.Object) error {
	err := w.Client.Create(ctx, object)
	if !w.Broker && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // it would go with its namespace
	}
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object) // empty: reading adds to what there is
	switch getErr := w.Reader.Get(ctx, client.ObjectKeyFromObject(object), existing); {
	case apierrors.IsNotFound(getErr):
		return w.Client.Create(ctx, object) // it went meanwhile, perhaps unseen, so that there is no event to wait for
	case getErr != nil:
		return getErr
	}
	has, wants := existing.GetLabels(), object.GetLabels()
	for _, label := range []string{names.LabelManagedBy, names.LabelSourceCluster, names.LabelServiceName} {
		if has[label] != wants[label] {
			return taken(object, existing)
		}
	}
	manager := has[discoveryv1.LabelManagedBy]
	switch {
	case broker.Withdrawn(existing): // it is wanted again
	case manager != "" && manager != wants[discoveryv1.LabelManagedBy]:
		return taken(object, existing)
	case manager == wants[discoveryv1.LabelManagedBy] && has[names.LabelServiceNamespace] == wants[names.LabelServiceNamespace]:
		return nil
	}
	if !w.Broker && manager == "" && !slices.ContainsFunc(existing.GetOwnerReferences(), isImport) {
		return taken(object, existing) // somebody has made it another one, which the cluster's policy keeps the agent from
	}
	// Copies of EndpointSlices are chosen by these two labels: nobody sees this one any more.
	object.SetUID(existing.GetUID())
	object.SetResourceVersion(existing.GetResourceVersion())
	return w.Update(ctx, object)
}

// isImport tells whether an owner is a ServiceImport.
func isImport(owner metav1.OwnerReference) bool {
	return owner.Kind == mcsv1beta1.ServiceImportKindName
}

func taken(object, existing client.Object) error {
	manager := existing.GetLabels()[discoveryv1.LabelManagedBy]
	ours := manager != "" && manager == object.GetLabels()[discoveryv1.LabelManagedBy]
	return TakenError{reflect.TypeOf(object).Elem().Name(), object.GetNamespace(), object.GetName(), ours}
}

// Update replaces an object, unless it is not the one that was decided on any more.
func (w Writer) Update(ctx context.Context, object client.Object) error {
	_, err := w.update(ctx, object)
	return err
}

// update tells too whether the object was the one that was decided on.
func (w Writer) update(ctx context.Context, object client.Object) (current bool, err error) {
	err = w.Client.Update(ctx, object)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil
	}
	return err == nil, err
}

// UpdateStatus replaces an object's status, unless it is not the object that was decided on
// any more.
func (w Writer) UpdateStatus(ctx context.Context, object client.Object) error {
	err := w.Client.Status().Update(ctx, object)
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// Delete deletes the very object that was decided on.
func (w Writer) Delete(ctx context.Context, object client.Object) error {
	uid := object.GetUID()
	err := w.Client.Delete(ctx, object, client.Preconditions{UID: &uid})
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// atOnce is how many slices of one plan are written at the same time. A service of 20,000
// endpoints is created in 200 slices; one after the other they would take their sum.
const atOnce = 16

// ErrOutdated says that slices were not deleted which should be, because another one was not
// what it was decided on any more. No event need follow that is about these, so that all has
// to be decided on again in a moment.
var ErrOutdated = errors.New("EndpointSlices have changed meanwhile, so that others were not deleted")

// OutdatedPause is how long to wait after ErrOutdated: about as long as a copy is behind.
const OutdatedPause = 50 * time.Millisecond

// Slices carries out planned changes of EndpointSlices, in their order. Nothing is released or
// deleted where a create or an update came too late (ErrOutdated) or failed for a reason that passes,
// for what goes may be what those would have taken over from. Where they were refused, what
// they did not wait for goes (see expendable), and the error has them tried again.
//
// What was written has its new version afterwards, and none where the API server has left it as
// it was: nobody will hear of that.
func (w Writer) Slices(ctx context.Context, changes sliceplan.Changes) error {
	if len(changes.Replace)+len(changes.Update)+len(changes.Release)+len(changes.Delete) > 0 {
		ctx = urgency.At(ctx, urgency.Now) // endpoints that live, or are dead, wait for what is created first
	}
	if failures := each(changes.Replace, "replacing", func(s *discoveryv1.EndpointSlice) error { return w.Delete(ctx, s) }); len(failures) > 0 {
		return joined(failures)
	}
	creating := each(changes.Create, "creating", func(s *discoveryv1.EndpointSlice) error { return w.Create(ctx, s) })
	var outdated atomic.Bool
	update := func(s *discoveryv1.EndpointSlice) error {
		before := s.ResourceVersion
		current, err := w.update(ctx, s)
		switch {
		case err == nil && !current:
			outdated.Store(true)
		case err == nil && s.ResourceVersion == before:
			s.ResourceVersion = ""
		}
		return err
	}
	failures := append(creating, each(changes.Update, "updating", update)...)
	if !outdated.Load() && !slices.ContainsFunc(failures, func(f failure) bool { return !Refused(f.err) }) {
		failures = append(failures, each(changes.Release, "updating", update)...)
	}
	switch {
	case !outdated.Load():
		failures = append(failures, each(expendable(changes.Delete, failures), "deleting", func(s *discoveryv1.EndpointSlice) error { return w.Delete(ctx, s) })...)
	case len(failures) == 0 && len(changes.Delete)+len(changes.Release) > 0:
		return ErrOutdated
	}
	return joined(failures)
}

// failure is what became of one slice.
type failure struct {
	slice *discoveryv1.EndpointSlice
	err   error
}

// each calls f for all slices, and returns what failed, in the order of the slices.
func each(list []*discoveryv1.EndpointSlice, doing string, f func(*discoveryv1.EndpointSlice) error) []failure {
	failures := make([]failure, len(list))
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, s := range list {
		group.Go(func() error {
			if err := f(s); err != nil {
				failures[i] = failure{s, fmt.Errorf("%s EndpointSlice %s: %w", doing, s.Name, err)}
			}
			return nil
		})
	}
	_ = group.Wait() // they are in failures
	return slices.DeleteFunc(failures, func(f failure) bool { return f.err == nil })
}

// joined returns failures as one error.
func joined(failures []failure) error {
	errs := make([]error, 0, len(failures))
	for _, f := range failures {
		errs = append(errs, f.err)
	}
	return errors.Join(errs...)
}
