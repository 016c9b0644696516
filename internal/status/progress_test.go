package status

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

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
	p.Done(StepRecord, a, p.Round()) // nobody has asked
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
		if p.Done(step.Step, step.of, p.Round()); complete(done) {
			t.Fatalf("complete after %v, without b's record", step)
		}
	}
	if p.Done(StepRecord, b, p.Round()); !complete(done) {
		t.Error("not complete although everything is done")
	}
	p.Done(StepRecord, b, p.Round())
	former := p.Round()
	again := p.Begin([]types.NamespacedName{a})
	p.Done(StepRecord, a, former)
	p.Done(StepEndpoints, a, former)
	if complete(again) {
		t.Error("what was begun before counts when it is asked again")
	}
}

// What is refused counts when it has been for a while, and not before: it may be for a moment only.
func TestWhatIsRefusedCountsLater(t *testing.T) {
	a, b := types.NamespacedName{Namespace: "n", Name: "a"}, types.NamespacedName{Namespace: "n", Name: "b"}
	for name, tt := range map[string]struct {
		do   func(*Progress)
		want time.Duration // after which all is done; 0 for never
	}{
		"for good": {func(p *Progress) { p.Refused(StepEndpoints, a, p.Round()) }, RefusedFor},
		"for a moment": {func(p *Progress) {
			p.Refused(StepEndpoints, a, p.Round())
			<-time.After(time.Second)
			p.Done(StepEndpoints, a, p.Round())
		}, time.Second},
		"for the first time late": {func(p *Progress) { <-time.After(RefusedFor); p.Refused(StepEndpoints, a, p.Round()) }, RefusedFor},
		"not tried":               {func(p *Progress) { p.Refused(StepEndpoints, b, p.Round()) }, 0},
		"of a former time": {func(p *Progress) {
			p.Refused(StepEndpoints, a, p.Round())
			<-time.After(time.Second)
			p.Begin([]types.NamespacedName{a})
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p Progress
				done, began := p.Begin([]types.NamespacedName{a}), time.Now()
				p.Done(StepRecord, a, p.Round())
				tt.do(&p)
				select {
				case <-done:
					if took := time.Since(began); took != tt.want {
						t.Errorf("done after %v, want %v", took, tt.want)
					}
				case <-time.After(time.Hour):
					if tt.want != 0 {
						t.Errorf("never done, want after %v", tt.want)
					}
				}
			})
		})
	}
}
