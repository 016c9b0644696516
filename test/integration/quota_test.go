package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// A quota that refuses one object shows in a condition and an Event, and holds up no other
// service.
func TestQuotaThatRefusesAnObjectShows(t *testing.T) {
	const ns, other = "quota", "quota-not"
	namespace(t, ns, "c1", "c2")
	namespace(t, other, "c1", "c2")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "no-services"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourceServices: resource.MustParse("0")}},
	}
	create(t, "c2", quota)
	eventually(t, "the quota is in force", func() error {
		if err := on["c2"].Get(t.Context(), client.ObjectKeyFromObject(quota), quota); err != nil {
			return err
		}
		if _, ok := quota.Status.Hard[corev1.ResourceServices]; !ok {
			return errors.New("its status is empty")
		}
		return nil
	})
	for _, namespace := range []string{ns, other} {
		create(t, "c1", service(namespace, "web", 80))
		create(t, "c1", export(namespace, "web"))
	}
	expectImport(t, "c2", other, "web", from("c1"))
	expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready")
		if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != "Pending" || !strings.Contains(ready.Message, "exceeded quota") {
			return fmt.Errorf("conditions %+v", imp.Status.Conditions)
		}
		return nil
	})
	eventually(t, "an Event about it", func() error {
		events := &corev1.EventList{}
		if err := on["c2"].List(t.Context(), events, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.Kind == "ServiceImport" && strings.Contains(e.Message, "exceeded quota") {
				return nil
			}
		}
		return fmt.Errorf("%d others", len(events.Items))
	})
	remove(t, "c2", quota)
	expectImport(t, "c2", ns, "web", from("c1"))
}
