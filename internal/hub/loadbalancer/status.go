package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// applyStatus writes the load balancer's addresses and this controller's conditions. If the API server rejects them, for
// example because a provider returned an invalid address, it keeps the addresses and writes a condition that says so.
func (c *Controller) applyStatus(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, lb *corev1.LoadBalancerStatus, conditions []metav1.Condition) error {
	err := c.writeStatus(ctx, mcs, lb, conditions)
	refusal := kit.OutcomeOf(err).Refusal
	if refusal == "" {
		return err
	}
	condition := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: reasonStatusRefused, Message: fmt.Sprintf(
		"The API server rejects the hub's update of the load balancer's status. The addresses and conditions in the status are out of date. "+
			"The provider may have returned an invalid address or reason. The hub retries. The API server's message: %s", refusal)}
	failed := c.writeStatus(ctx, mcs, &mcs.Status.LoadBalancer, []metav1.Condition{condition})
	if kit.OutcomeOf(failed).Refusal != "" { // no condition can say it
		c.event(mcs, corev1.EventTypeWarning, condition.Reason, condition.Message)
	}
	return errors.Join(err, failed)
}

// writeStatus makes one write, or none if nothing changed, and records Events for changes. A MultiClusterService without
// load balancer gets neither addresses nor conditions.
func (c *Controller) writeStatus(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService, lb *corev1.LoadBalancerStatus, conditions []metav1.Condition) error {
	lb = storable(lb)
	fields := map[string]any{}
	list, written, changes, err := status.Conditions(mcs.Status.Conditions, mcs.Generation, conditions...)
	if err != nil {
		return err
	}
	if len(list) > 0 {
		fields["conditions"] = list
	}
	written = written || len(owned(mcs)) > len(list)
	if lb != nil && len(lb.Ingress) > 0 {
		balancer, err := runtime.DefaultUnstructuredConverter.ToUnstructured(lb)
		if err != nil {
			return fmt.Errorf("encoding the load balancer's status: %w", err)
		}
		fields["loadBalancer"] = balancer
		written = written || !equality.Semantic.DeepEqual(lb.Ingress, mcs.Status.LoadBalancer.Ingress)
	} else {
		written = written || len(mcs.Status.LoadBalancer.Ingress) > 0
	}
	if !written {
		return nil
	}
	err = status.Own(ctx, c.client, kind, mcs, fields, names.ManagerLoadBalancer)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errOutdated
	}
	if err != nil {
		return err
	}
	for _, change := range changes {
		eventType := corev1.EventTypeWarning
		if change.Condition.Status != metav1.ConditionFalse {
			eventType = corev1.EventTypeNormal
		}
		c.event(mcs, eventType, change.Condition.Reason, change.Condition.Message)
	}
	return nil
}

var kind = networkingv1alpha1.GroupVersion.WithKind(networkingv1alpha1.MultiClusterServiceKind)

// owned returns the conditions that this controller owns.
func owned(mcs *networkingv1alpha1.MultiClusterService) (conditions []metav1.Condition) {
	for _, t := range []string{ConditionReady, ConditionReachable, ConditionAccepted} {
		if found := meta.FindStatusCondition(mcs.Status.Conditions, t); found != nil {
			conditions = append(conditions, *found)
		}
	}
	return conditions
}

// storable keeps only status ports with an error, because the CRD requires one for each port. Karmada's CRD does, too:
// both come from the markers of corev1.PortStatus.
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
