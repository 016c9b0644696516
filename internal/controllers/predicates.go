package controllers

import (
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// What follows lets pass only those changes of an object that controllers of endpoints have
// to do with, for which all endpoints of a service may have to be looked at.

// SpecChanged lets pass changes of a custom resource's spec, and its beginning to go. Its
// conditions, which are ours, are neither.
var SpecChanged = predicate.GenerationChangedPredicate{}

// ServiceChanged lets pass changes of what a Service contributes.
var ServiceChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*corev1.Service), e.ObjectNew.(*corev1.Service)
	return going(before) != going(after) || before.UID != after.UID ||
		!equality.Semantic.DeepEqual(before.OwnerReferences, after.OwnerReferences) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec)
}}

// ImportChanged lets pass changes of what the slices of a ServiceImport are made of.
var ImportChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.(*mcsv1beta1.ServiceImport).DeepCopy(), e.ObjectNew.(*mcsv1beta1.ServiceImport)
	before.Spec.IPs = after.Spec.IPs
	return going(before) != going(after) || before.UID != after.UID ||
		!maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
		!equality.Semantic.DeepEqual(before.Spec, after.Spec)
}}

// OpennessChanged lets pass that a namespace is opened to others' exports, or closed, or that it refuses other clusters'.
var OpennessChanged = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false }, // nothing is in it yet
	UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetLabels()[names.LabelExports] != e.ObjectNew.GetLabels()[names.LabelExports] ||
			e.ObjectOld.GetAnnotations()[names.AnnotationRefuseImports] != e.ObjectNew.GetAnnotations()[names.AnnotationRefuseImports]
	},
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func going(object client.Object) bool { return object.GetDeletionTimestamp() != nil }
