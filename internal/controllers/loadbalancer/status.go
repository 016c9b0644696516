package loadbalancer

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// applyStatus writes the load balancer's addresses and this controller's conditions, which are
// all that it owns of the status, in one write, or none where they stand. It tells of what has changed by
// Events. Nothing at all is what a MultiClusterService without load balancer has.
func (c *Controller) applyStatus(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, lb *corev1.LoadBalancerStatus, conditions []metav1.Condition) error {
	lb = storable(lb)
	object := map[string]any{}
	written := false
	var told []metav1.Condition
	var list []any
	now := metav1.Now().Rfc3339Copy()
	for _, want := range conditions {
		change := status.Decide(mcs.Status.Conditions, want, mcs.Generation, now)
		written = written || change.Written
		if change.Transition {
			told = append(told, change.Condition)
		}
		condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&change.Condition)
		if err != nil {
			return fmt.Errorf("encoding condition %s: %w", want.Type, err)
		}
		list = append(list, condition)
	}
	if len(list) > 0 {
		object["conditions"] = list
	} else {
		written = slices.ContainsFunc([]string{ConditionReady, ConditionReachable}, func(t string) bool {
			return meta.FindStatusCondition(mcs.Status.Conditions, t) != nil
		})
	}
	if lb != nil && len(lb.Ingress) > 0 {
		balancer, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lb)
		if err != nil {
			return fmt.Errorf("encoding the load balancer's status: %w", err)
		}
		object["loadBalancer"] = balancer
		written = written || !equality.Semantic.DeepEqual(lb.Ingress, mcs.Status.LoadBalancer.Ingress)
	} else {
		written = written || len(mcs.Status.LoadBalancer.Ingress) > 0
	}
	if !written {
		return nil
	}
	applied := &unstructured.Unstructured{Object: map[string]any{"status": object}}
	applied.SetGroupVersionKind(networkingv1alpha1.GroupVersion.WithKind(networkingv1alpha1.MultiClusterServiceKind))
	applied.SetNamespace(mcs.Namespace)
	applied.SetName(mcs.Name)
	applied.SetUID(mcs.UID) // another one of the same name is not meant
	// Nor is a newer version of it, for which the transitions may be none: it is on its way here.
	applied.SetResourceVersion(mcs.ResourceVersion)
	err := c.client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(applied), client.ForceOwnership, client.FieldOwner(names.ManagerLoadBalancer))
	if apierrors.IsConflict(err) {
		return errOutdated
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("writing the status of MultiClusterService %s/%s: %w", mcs.Namespace, mcs.Name, err)
	}
	for _, condition := range told {
		kind := corev1.EventTypeWarning
		if condition.Status != metav1.ConditionFalse {
			kind = corev1.EventTypeNormal
		}
		status.Say(c.recorder, mcs, nil, kind, condition.Reason, "Expose", condition.Message)
	}
	return nil
}

// storable leaves of ports those with an error: the definition of the kind requires one of each
// (so does Karmada's, for both are made from corev1.PortStatus, which marks it so).
func storable(lb *corev1.LoadBalancerStatus) *corev1.LoadBalancerStatus {
	lb = lb.DeepCopy()
	if lb == nil {
		return nil
	}
	for i := range lb.Ingress {
		lb.Ingress[i].Ports = slices.DeleteFunc(lb.Ingress[i].Ports, func(p corev1.PortStatus) bool { return p.Error == nil })
		if len(lb.Ingress[i].Ports) == 0 {
			lb.Ingress[i].Ports = nil
		}
	}
	return lb
}
