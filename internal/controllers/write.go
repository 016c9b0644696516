package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/sliceplan"
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
// else's, which is an error and left alone.
func (w Writer) Create(ctx context.Context, object client.Object) error {
	err := w.Client.Create(ctx, object)
	if !w.Broker && apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause) {
		return nil // it would go with its namespace
	}
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	existing := object.DeepCopyObject().(client.Object)
	switch getErr := w.Reader.Get(ctx, client.ObjectKeyFromObject(object), existing); {
	case apierrors.IsNotFound(getErr):
		return w.Client.Create(ctx, object) // it went meanwhile, perhaps unseen, so that there is no event to wait for
	case getErr != nil:
		return getErr
	}
	for _, label := range []string{names.LabelManagedBy, names.LabelSourceCluster, names.LabelServiceName} {
		if existing.GetLabels()[label] != object.GetLabels()[label] {
			return TakenError{reflect.TypeOf(object).Elem().Name(), object.GetNamespace(), object.GetName()}
		}
	}
	return nil
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

// Slices carries out planned changes of EndpointSlices, in their order. Nothing is deleted
// where a create or an update came too late or failed for a reason that passes, for what goes
// may be what those would have taken over from. Where they were refused, what they did not
// wait for goes (see expendable), and the error has them tried again.
func (w Writer) Slices(ctx context.Context, changes sliceplan.Changes) error {
	for _, s := range changes.Replace {
		if err := w.Delete(ctx, s); err != nil {
			return fmt.Errorf("replacing EndpointSlice %s: %w", s.Name, err)
		}
	}
	var failures []error
	var failed []*discoveryv1.EndpointSlice
	outdated := false
	for _, s := range changes.Create {
		if err := w.Create(ctx, s); err != nil {
			failures, failed = append(failures, fmt.Errorf("creating EndpointSlice %s: %w", s.Name, err)), append(failed, s)
		}
	}
	for _, s := range changes.Update {
		current, err := w.update(ctx, s)
		if err != nil {
			failures, failed = append(failures, fmt.Errorf("updating EndpointSlice %s: %w", s.Name, err)), append(failed, s)
		}
		outdated = outdated || err == nil && !current
	}
	if outdated {
		return errors.Join(failures...)
	}
	for _, s := range expendable(changes.Delete, failed, failures) {
		if err := w.Delete(ctx, s); err != nil {
			failures = append(failures, fmt.Errorf("deleting EndpointSlice %s: %w", s.Name, err))
		}
	}
	return errors.Join(failures...)
}
