// Package status writes conditions (conditions.go) and Events (events.go), and passes outcomes (outcomes.go) and
// progress between controllers.
package status

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Change is the effect of setting a condition.
type Change struct {
	// Condition is the condition to write, with the correct transition time.
	Condition metav1.Condition
	// Written is true if anything differs from the current condition.
	Written bool
	// Transition is true if the status or reason differs, which deserves an Event.
	Transition bool
}

// Decide compares the wanted condition with an object's conditions. The transition time changes only with the status. A
// condition that is equal, including time and generation, is not written. Every condition passes through here, so its
// message is cleaned and bounded here.
func Decide(have []metav1.Condition, want metav1.Condition, generation int64, now metav1.Time) Change {
	want.Message = Message(want.Message)
	current := meta.FindStatusCondition(have, want.Type)
	if current != nil && *current == want {
		return Change{Condition: want}
	}
	want.ObservedGeneration = generation
	want.LastTransitionTime = now
	if current == nil {
		return Change{Condition: want, Written: true, Transition: true}
	}
	if current.Status == want.Status {
		want.LastTransitionTime = current.LastTransitionTime
	}
	return Change{
		Condition:  want,
		Written:    *current != want,
		Transition: current.Status != want.Status || current.Reason != want.Reason,
	}
}

// ApplyExport sets all of owner's conditions of a ServiceExport in one write, or in none if they are equal. It returns
// the transitions, and whether it has written. If export is outdated, it returns a conflict: so each transition is reported once.
func ApplyExport(ctx context.Context, c client.Client, export *mcsv1beta1.ServiceExport, owner string, want ...metav1.Condition) (written bool, transitions []Change, err error) {
	kind := schema.FromAPIVersionAndKind(mcsv1beta1.GroupVersion.String(), mcsv1beta1.ServiceExportKindName)
	list, written, transitions, err := Conditions(export.Status.Conditions, export.Generation, want...)
	if err != nil {
		return false, nil, err
	}
	if !written {
		return false, nil, nil
	}
	if err = Own(ctx, c, kind, export.DeepCopy(), map[string]any{"conditions": list}, owner); err != nil {
		return false, nil, client.IgnoreNotFound(err)
	}
	return true, transitions, nil
}

// Conditions encodes the wanted conditions of an object for the API server. It returns whether to write them, and the
// transitions.
func Conditions(have []metav1.Condition, generation int64, want ...metav1.Condition) (list []any, written bool, transitions []Change, err error) {
	now := metav1.Now().Rfc3339Copy()
	for _, w := range want {
		change := Decide(have, w, generation, now)
		written = written || change.Written
		if change.Transition {
			transitions = append(transitions, change)
		}
		condition, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&change.Condition)
		if err != nil {
			return nil, false, nil, fmt.Errorf("encoding condition %s: %w", w.Type, err)
		}
		list = append(list, condition)
	}
	return list, written, transitions, nil
}

// Own makes fields the only fields of an object's status that a field manager owns. It requires an unchanged resource
// version: else fields may be wrong, and Events would repeat. about receives the API server's answer.
func Own(ctx context.Context, c client.Client, kind schema.GroupVersionKind, about client.Object, fields map[string]any, owner string) error {
	object := owned(kind, about, fields)
	err := c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(owner))
	if err == nil {
		err = runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, about)
	}
	if err != nil {
		return fmt.Errorf("writing the status of %s %s/%s: %w", kind.Kind, about.GetNamespace(), about.GetName(), err)
	}
	return nil
}

// owned is a status to apply to exactly this object.
func owned(kind schema.GroupVersionKind, about client.Object, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(about.GetNamespace())
	object.SetName(about.GetName())
	object.SetUID(about.GetUID()) // exclude a later object of the same name
	object.SetResourceVersion(about.GetResourceVersion())
	return object
}
