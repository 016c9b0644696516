package kit

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	// outdatedPause is the wait after a conflict. The event that the cache lacks usually comes first, but unwatched
	// objects and conflicts of a quota's counter have none.
	outdatedPause = time.Second
	behindPause   = 100 * time.Millisecond
	// refusedPause is the wait after the API server's refusal: quotas, permissions and webhooks change without events.
	refusedPause = 20 * time.Second
	jitter       = 0.5
)

// TakenError says that an object cannot be created because a foreign object has its name.
type TakenError struct{ Kind, Namespace, Name string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("%s %s/%s already exists and was not created by Atoll: delete or rename the existing object", e.Kind, e.Namespace, e.Name)
}

// LimitError says that an object is not written because of a limit of this cluster.
type LimitError string

func (e LimitError) Error() string { return string(e) }

// Outcome is what came of a write.
type Outcome struct {
	// Refusal is what the API server says if it refuses the write, or which limit of this cluster does; the write is retried after
	// a pause.
	Refusal string
	// Err is another error; the write is retried with backoff.
	Err error
	// again is when to retry, 0 for not.
	again time.Duration
}

// OutcomeOf interprets the error of a write. A conflict (the cache is outdated) is retried soon. A namespace in deletion
// ends all writes.
func OutcomeOf(err error) Outcome {
	var taken *TakenError
	var later laterError
	var limit LimitError
	switch {
	case errors.As(err, &later):
		return Outcome{again: time.Duration(later)}
	case err == nil, apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return Outcome{}
	case IsRefusal(err), errors.As(err, &taken), errors.As(err, &limit):
		return Outcome{Refusal: err.Error(), again: wait.Jitter(refusedPause, jitter)}
	case apierrors.IsConflict(err):
		return Outcome{again: wait.Jitter(outdatedPause, jitter)}
	}
	return Outcome{Err: err}
}

// Done reports whether the write need not be retried.
func (o Outcome) Done() bool { return o.Err == nil && o.again == 0 }

// Failure returns the refusal or the error, or "".
func (o Outcome) Failure() string {
	if o.Err != nil {
		return o.Err.Error()
	}
	return o.Refusal
}

// Result returns a reconciler's result. An error says what was done to what.
func (o Outcome) Result(format string, args ...any) (reconcile.Result, error) {
	switch {
	case o.Err != nil:
		return reconcile.Result{}, fmt.Errorf("%s: %w", fmt.Sprintf(format, args...), o.Err)
	case o.again > 0:
		return After(o.again), nil
	}
	return reconcile.Result{}, nil
}

// Outdated returns the result of a write that was based on an outdated copy.
func Outdated() reconcile.Result { return After(wait.Jitter(outdatedPause, jitter)) }

// Behind returns the result if another controller of this process wrote first. The cache shows that write soon.
func Behind() reconcile.Result { return After(wait.Jitter(behindPause, jitter)) }

// Create creates an object. If one of this name exists that the cache does not show yet, it is read with live: ours is
// a conflict, a foreign one a TakenError.
func Create(ctx context.Context, to client.Writer, live client.Reader, object client.Object, ours func(client.Object) bool) error {
	err := to.Create(ctx, object)
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	there := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	if readErr := live.Get(ctx, client.ObjectKeyFromObject(object), there); readErr != nil {
		if apierrors.IsNotFound(readErr) { // maybe without an event: a refilled cache does not know that it existed
			return outdated(object, err)
		}
		return readErr
	}
	if ours(there) {
		return outdated(object, err)
	}
	return &TakenError{Kind: kind(object), Namespace: object.GetNamespace(), Name: object.GetName()}
}

// Get reads an object, and returns nil if it does not exist.
func Get[O client.Object](ctx context.Context, from client.Reader, key client.ObjectKey, object O, options ...client.GetOption) (O, error) {
	if err := from.Get(ctx, key, object, options...); err != nil {
		return *new(O), client.IgnoreNotFound(err)
	}
	return object, nil
}

// Update replaces an object if its resource version is unchanged. A deleted object is a conflict too.
func Update(ctx context.Context, to client.Writer, object client.Object) error {
	err := to.Update(ctx, object)
	if apierrors.IsNotFound(err) {
		return outdated(object, err)
	}
	return err
}

// Delete deletes an object if its resource version is unchanged. It succeeds if the object is already gone.
func Delete(ctx context.Context, to client.Writer, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return client.IgnoreNotFound(to.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version}))
}

// Apply deletes or writes an object. have is the cached object, want the wanted one; nil means none. An object that
// exists without being cached is ours, because nobody else may create it.
func Apply[O client.Object](ctx context.Context, to client.Writer, live client.Reader, have, want O, remove bool) error {
	none := any(*new(O))
	switch {
	case remove:
		return Delete(ctx, to, have)
	case any(want) == none:
		return nil
	case any(have) == none:
		return Create(ctx, to, live, want, func(client.Object) bool { return true })
	}
	return Update(ctx, to, want)
}

func outdated(object client.Object, err error) error {
	return apierrors.NewConflict(corev1.Resource(kind(object)), object.GetName(), err)
}

func kind(object client.Object) string { return reflect.TypeOf(object).Elem().Name() }
