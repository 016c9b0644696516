package controllers

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
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

// ErrOutdated says that an object is not the one that was decided on any more: what it is now is about to be seen.
var ErrOutdated = errors.New("the object has changed meanwhile")

// OutdatedPause is how long to wait after ErrOutdated, where the event that the copy is behind with does not come first.
const OutdatedPause = time.Second

// Slice makes an EndpointSlice what it should be: have is what the copy shows, want what it should be, and nil is none. It returns ErrOutdated where
// the copy is behind.
func (w Writer) Slice(ctx context.Context, have, want *discoveryv1.EndpointSlice) error {
	switch {
	case want == nil:
		return w.deleted(ctx, have)
	case have != nil && have.AddressType != want.AddressType: // the API does not let it change
		if err := w.deleted(ctx, have); err != nil {
			return err
		}
		fallthrough
	case have == nil:
		if err := w.Create(ctx, want); err != nil {
			return fmt.Errorf("creating EndpointSlice %s: %w", want.Name, err)
		}
		return nil
	}
	current, err := w.update(ctx, want)
	switch {
	case err != nil:
		return fmt.Errorf("updating EndpointSlice %s: %w", want.Name, err)
	case !current:
		return ErrOutdated
	}
	return nil
}

func (w Writer) deleted(ctx context.Context, slice *discoveryv1.EndpointSlice) error {
	if err := w.Delete(ctx, slice); err != nil {
		return fmt.Errorf("deleting EndpointSlice %s: %w", slice.Name, err)
	}
	return nil
}
