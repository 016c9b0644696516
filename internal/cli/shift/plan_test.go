package shift

import (
	"maps"
	"math"
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestNextWeights(t *testing.T) {
	for _, tt := range []struct {
		others  parts
		percent int
		want    string
	}{
		{parts{"c1": 1}, 10, "c2=1 c1=9"},
		{parts{"c1": 1}, 50, "c2=1 c1=1"},
		{parts{"c1": 3, "c3": 1}, 50, "c2=4 c1=3 c3=1"},
		{parts{"c1": 3, "c3": 0}, 25, "c2=1 c1=3 c3=0"},
		{parts{"c1": 3, "c3": 1}, 100, "c2=1 c1=0 c3=0"},
		{parts{"c1": 1_000_000, "c3": 1}, 10, "c2=109890 c1=989010 c3=1"},
	} {
		if got := weightsText(nextWeights(tt.others, "c2", tt.percent)); got != tt.want {
			t.Errorf("%v, %d %%: %s, want %s", tt.others, tt.percent, got, tt.want)
		}
	}
}

// The target gets its percentage, the others keep their proportions, and the API server accepts the weights.
func TestNextWeightsShares(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		others := parts{}
		for _, id := range rapid.SliceOfNDistinct(rapid.StringMatching(`d[a-z]{1,3}`), 1, 63, rapid.ID).Draw(t, "others") {
			others[id] = rapid.Int64Range(0, choice.MaxWeight).Draw(t, id)
		}
		if sum(others) == 0 {
			others[ids(others)[0]] = 1
		}
		percent := rapid.IntRange(1, 100).Draw(t, "percent")
		weights := nextWeights(others, "c2", percent)
		total := 0.0
		for _, w := range weights {
			if w.Weight < 0 || w.Weight > choice.MaxWeight {
				t.Fatalf("%v", weights)
			}
			total += float64(w.Weight)
		}
		for i, w := range weights {
			want := float64(percent) / 100
			if i > 0 {
				want = float64(100-percent) / 100 * float64(others[w.Cluster]) / float64(sum(others))
			}
			if got := float64(w.Weight) / total; math.Abs(got-want) > 0.001 || (want > 0) != (got > 0) {
				t.Fatalf("%s has %f of the traffic, want %f: %v", w.Cluster, got, want, weights)
			}
		}
	})
}

func TestPartsOf(t *testing.T) {
	others := []string{"c1", "c3"}
	weights := func(c1, c3 int32) []trafficv1alpha1.ClusterWeight {
		return []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: c1}, {Cluster: "c2", Weight: 7}, {Cluster: "c3", Weight: c3}}
	}
	for name, tt := range map[string]struct {
		earlier        []trafficv1alpha1.ClusterWeight
		active, usable map[string]int
		want           parts
	}{
		"earlier weights":            {weights(2, 1), map[string]int{"c1": 5}, nil, parts{"c1": 2, "c3": 1}},
		"endpoints in use":           {nil, map[string]int{"c1": 5, "c2": 3}, map[string]int{"c1": 5, "c3": 1}, parts{"c1": 5, "c3": 0}},
		"the target had all traffic": {weights(0, 0), map[string]int{"c2": 3}, map[string]int{"c1": 5, "c3": 1}, parts{"c1": 5, "c3": 1}},
		"nothing is known":           {nil, nil, nil, parts{"c1": 1, "c3": 1}},
	} {
		if got := partsOf(others, tt.earlier, tt.active, tt.usable); !maps.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", name, got, tt.want)
		}
	}
}

func TestCheckSteps(t *testing.T) {
	for _, steps := range [][]int{nil, {0}, {101}, {10, 10}, {50, 10}} {
		if checkSteps(steps) == nil {
			t.Errorf("%v is accepted", steps)
		}
	}
	for _, steps := range [][]int{{100}, {1, 2, 100}} {
		if err := checkSteps(steps); err != nil {
			t.Errorf("%v: %v", steps, err)
		}
	}
}

// Whatever was there before, restore gives it back after any number of records, and the state survives the annotation.
func TestRecordAndRestore(t *testing.T) {
	target := []trafficv1alpha1.LocalPolicyTargetReference{{Kind: "ServiceImport", Name: "web"}}
	for name, tt := range map[string]struct {
		meta    metav1.ObjectMeta
		earlier []trafficv1alpha1.ClusterWeight
		isOurs  bool
	}{
		"created":         {metav1.ObjectMeta{}, nil, true},
		"without weights": {metav1.ObjectMeta{ResourceVersion: "1", Annotations: map[string]string{"a": "b"}}, nil, false},
		"with weights":    {metav1.ObjectMeta{ResourceVersion: "1"}, []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: 3}}, false},
	} {
		policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: tt.meta}
		policy.Spec.TargetRefs, policy.Spec.Weights = target, tt.earlier
		s := &state{To: "c2", Steps: []int{10, 100}, Others: parts{"c1": 1}}
		record(policy, s, 10)
		policy.ResourceVersion = "2"
		s.Done = 1
		record(policy, s, 100)
		got, err := stateOf(policy)
		if err != nil || !got.isSame("c2", []int{10, 100}) || got.isComplete() || got.Done != 1 || weightsText(policy.Spec.Weights) != "c2=1 c1=0" {
			t.Errorf("%s: %+v, %v, %v", name, got, err, policy.Spec.Weights)
		}
		isOurs, err := restore(policy)
		if err != nil || isOurs != tt.isOurs || !slices.Equal(policy.Spec.Weights, tt.earlier) || policy.Annotations[names.AnnotationShift]+policy.Annotations[names.AnnotationShiftEarlier] != "" {
			t.Errorf("%s: %t, %v, %+v", name, isOurs, err, policy)
		}
	}
	for _, wrong := range []string{"x", `{"to":"c2","steps":[10],"done":2,"others":{"c1":1}}`, `{"to":"c2","steps":[10],"done":0}`} {
		if _, err := stateOf(&trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{names.AnnotationShift: wrong}}}); err == nil {
			t.Errorf("%s is accepted", wrong)
		}
	}
}
