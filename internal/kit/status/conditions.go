// Package status writes conditions (conditions.go) and Events (events.go), and passes outcomes (outcomes.go) and
// progress between controllers.
package status

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Change is what setting a condition amounts to.
type Change struct {
	// Condition is the one to write, with the right transition time.
	Condition metav1.Condition
	// Written is whether it differs at all from what is there.
	Written bool
	// Transition is whether its status or reason differ, which is worth an Event.
	Transition bool
}

// Decide compares the wanted condition with those that an object of the given
// generation has. The transition time moves only with the status. A condition that is there
// just so, its time and generation included, stands as it is. Every condition that Atoll writes
// comes through here, so its message is bounded here.
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

// ApplyExport sets conditions of a ServiceExport, all those of the field manager owner, in
// one write, or in none when they stand already. It returns the transitions, and whether they
// stand now: not so where the export is not the newest version, which is on its way. So each
// transition is told of once.
func ApplyExport(ctx context.Context, c client.Client, export *mcsv1beta1.ServiceExport, owner string, want ...metav1.Condition) (stands bool, transitions []Change, err error) {
	kind := schema.FromAPIVersionAndKind(mcsv1beta1.GroupVersion.String(), mcsv1beta1.ServiceExportKindName)
	list, written, transitions, err := Conditions(export.Status.Conditions, export.Generation, want...)
	if err != nil {
		return false, nil, err
	}
	if !written {
		return true, nil, nil
	}
	err = Own(ctx, c, kind, export.DeepCopy(), map[string]any{"conditions": list}, owner)
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return false, nil, nil
	}
	if err != nil {
		return false, nil, err
	}
	return true, transitions, nil
}

// Conditions encodes conditions that are wanted of an object of the given generation, as the API server takes them, and tells
// whether any of them is to be written at all, and which of them are transitions.
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

// Own makes fields, and no others, be what a field manager has of an object's status, if the object is still of the resource version that was decided on:
// for another version they may be wrong, and what is told of them by Events would be told again. about gets the API server's answer.
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

// owned is a status as it is applied to the very object.
func owned(kind schema.GroupVersionKind, about client.Object, fields map[string]any) *unstructured.Unstructured {
	object := &unstructured.Unstructured{Object: map[string]any{"status": fields}}
	object.SetGroupVersionKind(kind)
	object.SetNamespace(about.GetNamespace())
	object.SetName(about.GetName())
	object.SetUID(about.GetUID()) // another one of the same name is not meant
	object.SetResourceVersion(about.GetResourceVersion())
	return object
}
