package status

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
)

func TestProgress(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "n", Name: "a"}, types.NamespacedName{Namespace: "n", Name: "b"}
	complete := func(done <-chan struct{}) bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}
	var p Progress
	var asked []types.NamespacedName
	p.OnBegin(func(s types.NamespacedName) { asked = append(asked, s) })
	p.Done(StepRecord, a) // nobody has asked
	if !complete(p.Begin(nil)) {
		t.Error("where there is nothing, all is as it should be")
	}
	done := p.Begin([]types.NamespacedName{a, b})
	if !slices.Equal(asked, []types.NamespacedName{a, b}) {
		t.Errorf("to be looked at: %v", asked)
	}
	for _, step := range []struct {
		Step
		of types.NamespacedName
	}{{StepRecord, a}, {StepRecord, a}, {StepEndpoints, a}, {StepEndpoints, b}} {
		if p.Done(step.Step, step.of); complete(done) {
			t.Fatalf("complete after %v, without b's record", step)
		}
	}
	if p.Done(StepRecord, b); !complete(done) {
		t.Error("not complete although everything is done")
	}
	p.Done(StepRecord, b)
	if again := p.Begin([]types.NamespacedName{a}); complete(again) {
		t.Error("what was done before counts when it is asked again")
	}
}
