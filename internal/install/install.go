package install

import (
	"context"
	"fmt"
	"reflect"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

const (
	// fieldManager owns the applied fields.
	fieldManager = "atoll-cli"
	// LabelManagedBy, with the value ManagedBy, marks applied objects. Only these may be deleted.
	LabelManagedBy = "app.kubernetes.io/managed-by"
	// ManagedBy is the value of LabelManagedBy.
	ManagedBy = "atoll"

	// patience is the timeout for short operations.
	patience = 30 * time.Second
	// longPatience is the timeout for deletions that include all contents.
	longPatience = 2 * time.Minute
	// pause is the time between polls.
	pause = 100 * time.Millisecond
	// attemptTime limits one poll: enough for a busy server, and acceptable for users who did not want to wait.
	attemptTime = 10 * time.Second
)

// Change is the result of applying or deleting an object.
type Change string

// Values of Change.
const (
	Created   Change = "created"
	Changed   Change = "changed"
	Unchanged Change = "unchanged"
	Deleted   Change = "deleted"
	Kept      Change = "kept"
)

// Report is called for each object; note has the reason if it is not obvious.
type Report func(change Change, object client.Object, note string)

// Target is an API server to install on.
type Target struct {
	client.Client
	// Config is the client configuration.
	Config *rest.Config
	// On names the cluster in commands.
	On command.Cluster
	// DryRun reports the deletions without making any change.
	DryRun bool
	Report Report

	// planned are the objects that a dry run has reported as deleted, so that later steps do not count them.
	planned map[objectKey]bool
}

// Scheme returns the kinds that a Target knows.
func Scheme() *runtime.Scheme {
	scheme := broker.Scheme()
	for _, add := range []func(*runtime.Scheme) error{aboutv1beta1.AddToScheme, networkingv1alpha1.AddToScheme, trafficv1alpha1.AddToScheme, appsv1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	return scheme
}

// NewTarget returns a Target for config. It does not connect.
func NewTarget(config *rest.Config, report Report) (*Target, error) {
	config = rest.CopyConfig(config)
	config.QPS = -1
	if config.Timeout == 0 {
		config.Timeout = patience
	}
	c, err := client.New(config, client.Options{Scheme: Scheme()})
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", config.Host, err)
	}
	if report == nil {
		report = func(Change, client.Object, string) {}
	}
	return &Target{Client: c, Config: config, Report: report}, nil
}

// Apply creates or updates objects in order, by server-side apply, and takes over conflicting fields.
func (t *Target) Apply(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := t.apply(ctx, object); err != nil {
			return fmt.Errorf("applying %s: %w", Name(object), err)
		}
	}
	return nil
}

func (t *Target) apply(ctx context.Context, object *unstructured.Unstructured) error {
	object = Marked(object)
	before, err := t.read(ctx, object)
	if err != nil {
		return err
	}
	if err := t.Client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(fieldManager)); err != nil {
		return err
	}
	switch {
	case before == nil:
		t.Report(Created, object, "")
	case hasChanged(before, object):
		t.Report(Changed, object, "")
	default:
		t.Report(Unchanged, object, "")
	}
	return nil
}

// hasChanged reports whether an object differs, apart from its managed fields: the first apply after that of another manager changes
// these only.
func hasChanged(before, after *unstructured.Unstructured) bool {
	before, after = before.DeepCopy(), after.DeepCopy()
	for _, o := range []*unstructured.Unstructured{before, after} {
		o.SetManagedFields(nil)
		o.SetResourceVersion("")
	}
	return !equality.Semantic.DeepEqual(before.Object, after.Object)
}

// read returns the existing object, or nil.
func (t *Target) read(ctx context.Context, object client.Object) (*unstructured.Unstructured, error) {
	have := &unstructured.Unstructured{}
	have.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	err := t.Get(ctx, client.ObjectKeyFromObject(object), have)
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil, nil
	}
	return have, err
}

// Delete deletes existing objects in order and waits until they are gone.
func (t *Target) Delete(ctx context.Context, objects ...*unstructured.Unstructured) error {
	for _, object := range objects {
		if err := t.delete(ctx, object); err != nil {
			return fmt.Errorf("deleting %s: %w", Name(object), err)
		}
	}
	return nil
}

func (t *Target) delete(ctx context.Context, object *unstructured.Unstructured) error {
	have, err := t.read(ctx, object)
	if have == nil || err != nil {
		return err
	}
	if t.DryRun {
		t.plan(have)
		return nil
	}
	if err := client.IgnoreNotFound(t.Client.Delete(ctx, have)); err != nil {
		return err
	}
	err = Wait(ctx, longPatience, func(ctx context.Context) error {
		switch now, err := t.read(ctx, object); {
		case err != nil:
			return err
		case now != nil && now.GetUID() == have.GetUID():
			return fmt.Errorf("the object still exists, with the finalizers %v", now.GetFinalizers())
		}
		return nil
	})
	if err != nil {
		return err
	}
	t.Report(Deleted, have, "")
	return nil
}

// Wait calls ready until it returns nil or the time is over, and returns ready's last error. A call that started in
// time may finish: on a slow server, "deadline exceeded" would hide what is missing.
func Wait(ctx context.Context, patience time.Duration, ready func(context.Context) error) error {
	over := time.After(patience)
	for {
		attempt, cancel := context.WithTimeout(ctx, attemptTime)
		err := ready(attempt)
		cancel()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-over:
			return err
		case <-time.After(pause):
		}
	}
}

// Objects converts typed objects with a kind for Apply, without the fields that only the API server sets.
func Objects[T client.Object](objects ...T) []*unstructured.Unstructured {
	all := make([]*unstructured.Unstructured, 0, len(objects))
	for _, o := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
		if err != nil {
			panic(err) // cannot happen: this program created the objects
		}
		u := &unstructured.Unstructured{Object: content}
		unstructured.RemoveNestedField(u.Object, "status")
		unstructured.RemoveNestedField(u.Object, "metadata", "creationTimestamp")
		unstructured.RemoveNestedField(u.Object, "spec", "template", "metadata", "creationTimestamp")
		all = append(all, u)
	}
	return all
}

// Name returns kind, namespace and name for messages.
func Name(object client.Object) string {
	name := object.GetName()
	if object.GetNamespace() != "" {
		name = object.GetNamespace() + "/" + name
	}
	kind := object.GetObjectKind().GroupVersionKind().Kind
	if kind == "" { // typed objects from an API server have no kind
		kind = reflect.TypeOf(object).Elem().Name()
	}
	return kind + " " + name
}

// Namespace returns a namespace, or nil if it does not exist.
func (t *Target) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	namespace := &corev1.Namespace{}
	if err := t.Get(ctx, client.ObjectKey{Name: name}, namespace); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	return namespace, nil
}
