package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// reasonAbandoned is the reason of an Event about a load balancer that could not be deleted.
const reasonAbandoned = "LoadBalancerAbandoned"

// holders returns the providers in the object's finalizers.
func holders(mcs *networkingv1alpha1.MultiClusterService) (providers []string) {
	for _, f := range mcs.Finalizers {
		if name, ours := strings.CutPrefix(f, names.FinalizerLoadBalancer); ours {
			providers = append(providers, name)
		}
	}
	return providers
}

// hold sets the provider's finalizer before the provider creates anything. It first deletes the load balancers of
// other providers.
func (c *Controller) hold(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, provider string) error {
	held := false
	for _, other := range holders(mcs) {
		if other == provider {
			held = true
			continue
		}
		if err := c.release(ctx, mcs, other); err != nil {
			return err
		}
	}
	if held {
		return nil
	}
	before := mcs.DeepCopy()
	controllerutil.AddFinalizer(mcs, names.FinalizerLoadBalancer+provider)
	return c.setFinalizers(ctx, mcs, before)
}

// setFinalizers writes the finalizers, or fails if the object changed since before was read.
func (c *Controller) setFinalizers(ctx context.Context, mcs, before *networkingv1alpha1.MultiClusterService) error {
	err := c.client.Patch(ctx, mcs, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if err != nil {
		before.DeepCopyInto(mcs)
	}
	key := client.ObjectKeyFromObject(mcs)
	if !apierrors.IsConflict(err) {
		c.conflicting.Over(key)
	} else if c.conflicting.For(key, time.Now()) >= status.FailedAfter { // until then, they are those of an outdated cache
		return failedFinalizers(mcs, err)
	}
	return wrote(mcs, err)
}

// finalizersError is a failure to write an object's finalizers.
type finalizersError struct{ error }

func (e finalizersError) Unwrap() error { return e.error }

// isSetting reports whether err is a failure to write finalizers, and nothing else.
func isSetting(err error) bool {
	_, is := err.(finalizersError)
	return is
}

// wrote maps errors from writing an object's finalizers.
func wrote(mcs *networkingv1alpha1.MultiClusterService, err error) error {
	switch {
	case apierrors.IsConflict(err), apierrors.IsNotFound(err), going(err):
		return errOutdated
	case err != nil:
		return failedFinalizers(mcs, err)
	}
	return nil
}

func failedFinalizers(mcs *networkingv1alpha1.MultiClusterService, err error) error {
	return finalizersError{fmt.Errorf("writing the finalizers of MultiClusterService %s/%s: %w", mcs.Namespace, mcs.Name, err)}
}

// going reports whether a finalizer was rejected because the object is under deletion, which the cached copy does not
// show yet.
func going(err error) bool {
	var refused apierrors.APIStatus
	if !apierrors.IsInvalid(err) || !errors.As(err, &refused) || refused.Status().Details == nil {
		return false
	}
	return slices.ContainsFunc(refused.Status().Details.Causes, func(cause metav1.StatusCause) bool { return cause.Field == "metadata.finalizers" })
}

// drop removes a provider's finalizer.
func (c *Controller) drop(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, provider string) error {
	before := mcs.DeepCopy()
	if !controllerutil.RemoveFinalizer(mcs, names.FinalizerLoadBalancer+provider) {
		return nil
	}
	return c.setFinalizers(ctx, mcs, before)
}

// withdraw deletes all load balancers of an object.
func (c *Controller) withdraw(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	for _, provider := range holders(mcs) {
		if err := c.release(ctx, mcs, provider); err != nil {
			return err
		}
	}
	if mcs.DeletionTimestamp != nil {
		return nil
	}
	return c.applyStatus(ctx, mcs, nil, nil)
}

// release deletes a provider's load balancer and then its finalizer. If deletion keeps failing, it gives up after a
// time, so that the object can be deleted.
func (c *Controller) release(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, name string) error {
	key := client.ObjectKeyFromObject(mcs)
	provider, err := c.providers.get(ctx, name)
	if err == nil {
		err = c.remove(ctx, provider, name, mcs)
	}
	if err != nil {
		options, _ := cloudprovider.OptionsOf(mcs)
		if !options.Abandon && c.failing.For(key, time.Now()) < c.options.Abandon {
			condition := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: reasonDeleting, Message: fmt.Sprintf(
				"The load balancer of provider %s cannot be deleted: %[3]v. The hub retries for %[2]v. To give up now, set the annotation %[4]s: \"true\".",
				name, c.options.Abandon, err, cloudprovider.AnnotationAbandon)}
			return errors.Join(err, c.applyStatus(ctx, mcs, &mcs.Status.LoadBalancer, []metav1.Condition{condition}))
		}
		c.event(mcs, corev1.EventTypeWarning, reasonAbandoned, fmt.Sprintf("The load balancer of provider %s could not be deleted and may still exist: %v", name, err))
	}
	if err := c.drop(ctx, mcs, name); err == errOutdated {
		return err
	} else if err != nil {
		condition := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: reasonDeleting, Message: fmt.Sprintf(
			"Provider %s no longer has a load balancer, but the hub cannot remove the provider's finalizer, so this MultiClusterService is not deleted yet: %v. The hub retries.", name, err)}
		return join(err, c.applyStatus(ctx, mcs, nil, []metav1.Condition{condition}))
	}
	c.failing.Over(key)
	return nil
}
