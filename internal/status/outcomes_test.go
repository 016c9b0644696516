package status

import (
	"slices"
	"testing"
)

func TestOutcomes(t *testing.T) {
	var outcomes Outcomes[string]
	var told []string
	outcomes.OnChange(func(key string) { told = append(told, key) })
	if _, known := outcomes.Get("a"); known {
		t.Error("known before it was tried")
	}
	remark := []Remark{{"Reason", "message"}}
	for _, now := range []Outcome{{}, {}, {Failure: "no"}, {Failure: "no"}, {Failure: "no", Remarks: remark}, {Failure: "no", Remarks: slices.Clone(remark)}, {}} {
		outcomes.Set("a", now)
		if got, known := outcomes.Get("a"); !known || got.Failure != now.Failure || !slices.Equal(got.Remarks, now.Remarks) {
			t.Errorf("got %+v, set %+v", got, now)
		}
	}
	outcomes.Set("b", Outcome{})
	if want := []string{"a", "a", "a", "a", "b"}; !slices.Equal(told, want) {
		t.Errorf("told %v, want %v", told, want)
	}
	outcomes.Forget("a")
	if _, known := outcomes.Get("a"); known {
		t.Error("known after it was forgotten")
	}
}
