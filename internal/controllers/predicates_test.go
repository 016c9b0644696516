package controllers

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

func TestServiceChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*corev1.Service)
		want   bool
	}{
		"nothing":            {func(*corev1.Service) {}, false},
		"its labels":         {func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }, false},
		"its status":         {func(s *corev1.Service) { s.Status.Conditions = []metav1.Condition{{}} }, false},
		"its ports":          {func(s *corev1.Service) { s.Spec.Ports = []corev1.ServicePort{{Port: 80}} }, true},
		"its type":           {func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, true},
		"its owner":          {func(s *corev1.Service) { s.OwnerReferences = []metav1.OwnerReference{{Kind: "ServiceImport"}} }, true},
		"it begins to go":    {func(s *corev1.Service) { s.DeletionTimestamp = &metav1.Time{} }, true},
		"it was made anew":   {func(s *corev1.Service) { s.UID = "other" }, true},
		"publishes unready":  {func(s *corev1.Service) { s.Spec.PublishNotReadyAddresses = true }, true},
		"gets an address":    {func(s *corev1.Service) { s.Spec.ClusterIPs = []string{"10.0.0.1"} }, true},
		"another annotation": {func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }, false},
	} {
		before := &corev1.Service{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		after := before.DeepCopy()
		tt.change(after)
		if got := ServiceChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

func TestImportChanged(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*mcsv1beta1.ServiceImport)
		want   bool
	}{
		"nothing":        {func(*mcsv1beta1.ServiceImport) {}, false},
		"its addresses":  {func(i *mcsv1beta1.ServiceImport) { i.Spec.IPs = []string{"10.0.0.1"} }, false},
		"its conditions": {func(i *mcsv1beta1.ServiceImport) { i.Status.Conditions = []metav1.Condition{{}} }, false},
		"its ports":      {func(i *mcsv1beta1.ServiceImport) { i.Spec.Ports = []mcsv1beta1.ServicePort{{Port: 80}} }, true},
		"its families":   {func(i *mcsv1beta1.ServiceImport) { i.Spec.IPFamilies = []corev1.IPFamily{"IPv4"} }, true},
		"its clusters":   {func(i *mcsv1beta1.ServiceImport) { i.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}} }, false},
		"its Service": {func(i *mcsv1beta1.ServiceImport) {
			i.Annotations = map[string]string{"multicluster.kubernetes.io/derived-service": "x"}
		}, true},
		"whose it is":      {func(i *mcsv1beta1.ServiceImport) { i.Labels = map[string]string{"atoll.dev/managed-by": "x"} }, true},
		"it begins to go":  {func(i *mcsv1beta1.ServiceImport) { i.DeletionTimestamp = &metav1.Time{} }, true},
		"it was made anew": {func(i *mcsv1beta1.ServiceImport) { i.UID = "other" }, true},
	} {
		before := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{UID: "uid"}}
		after := before.DeepCopy()
		tt.change(after)
		if got := ImportChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tt.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
