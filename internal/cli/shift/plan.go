package shift

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// ids lists the keys of a map by cluster, in order.
func ids[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// parts are the proportions in which clusters share traffic, by cluster id.
type parts map[string]int64

// checkSteps returns why percentages are no steps.
func checkSteps(steps []int) error {
	for i, percent := range steps {
		if percent < 1 || percent > 100 || i > 0 && percent <= steps[i-1] {
			return errors.New("--steps must ascend, between 1 and 100")
		}
	}
	if len(steps) == 0 {
		return errors.New("--steps must have at least one percentage")
	}
	return nil
}

// partsOf returns the proportions of the other clusters that export the service: their earlier weights, or else the numbers of
// their endpoints that get connections now, or else of those that are usable, or else equal parts. Clusters whose weights or
// numbers are 0 stay on standby.
func partsOf(others []string, earlier []trafficv1alpha1.ClusterWeight, active, usable map[string]int) parts {
	byWeight, byActive, byUsable, equal := parts{}, parts{}, parts{}, parts{}
	for _, id := range others {
		if i := slices.IndexFunc(earlier, func(w trafficv1alpha1.ClusterWeight) bool { return w.Cluster == id }); i >= 0 {
			byWeight[id] = int64(max(earlier[i].Weight, 0))
		} else {
			byWeight[id] = 0
		}
		byActive[id], byUsable[id], equal[id] = int64(active[id]), int64(usable[id]), 1
	}
	for _, p := range []parts{byWeight, byActive, byUsable} {
		if sum(p) > 0 {
			return p
		}
	}
	return equal
}

func sum(p parts) (total int64) {
	for _, part := range p {
		total += part
	}
	return total
}

// nextWeights returns the weights with which the target gets a percentage of the traffic, and the other clusters share the rest
// in proportion to their parts, of which one at least is above 0. The target comes first, the others in the order of their ids.
func nextWeights(others parts, target string, percent int) []trafficv1alpha1.ClusterWeight {
	exact := []int64{int64(percent) * sum(others)}
	for _, id := range ids(others) {
		exact = append(exact, int64(100-percent)*others[id])
	}
	divisor, largest := int64(0), int64(0)
	for _, w := range exact {
		divisor, largest = gcd(divisor, w), max(largest, w)
	}
	weights := make([]trafficv1alpha1.ClusterWeight, 0, len(exact))
	for i, w := range exact {
		if largest/divisor <= choice.MaxWeight {
			w /= divisor
		} else if w > 0 { // of huge parts, the shares are rounded
			w = max(w/(largest/choice.MaxWeight+1), 1)
		}
		id := target
		if i > 0 {
			id = ids(others)[i-1]
		}
		weights = append(weights, trafficv1alpha1.ClusterWeight{Cluster: id, Weight: int32(w)})
	}
	return weights
}

func gcd(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// state is a shift in one cluster. It is in the annotation names.AnnotationShift of the TrafficPolicy.
type state struct {
	To    string `json:"to"`
	Steps []int  `json:"steps"`
	// Done is the number of steps that are complete.
	Done int `json:"done"`
	// Others are the proportions of the other clusters.
	Others parts `json:"others"`
}

// stateOf returns the shift that a policy's annotation records, or nil.
func stateOf(policy *trafficv1alpha1.TrafficPolicy) (*state, error) {
	if policy == nil || policy.Annotations[names.AnnotationShift] == "" {
		return nil, nil
	}
	s := &state{}
	err := json.Unmarshal([]byte(policy.Annotations[names.AnnotationShift]), s)
	if err == nil {
		err = checkSteps(s.Steps)
	}
	if err != nil || s.To == "" || s.Done < 0 || s.Done > len(s.Steps) || sum(s.Others) <= 0 {
		return nil, fmt.Errorf("the annotation %s of TrafficPolicy %s/%s is not valid. Set the weights that you want, and remove the annotations %[1]s and %[4]s", names.AnnotationShift, policy.Namespace, policy.Name, names.AnnotationShiftEarlier)
	}
	return s, nil
}

// isComplete reports whether all steps are done.
func (s *state) isComplete() bool { return s.Done == len(s.Steps) }

// isSame reports whether the shift has a target and steps.
func (s *state) isSame(to string, steps []int) bool {
	return s.To == to && slices.Equal(s.Steps, steps)
}

// none is the value of names.AnnotationShiftEarlier if the shift created the policy.
const none = "none"

// record writes a shift's annotations and weights to a policy. The earlier weights are recorded once.
func record(policy *trafficv1alpha1.TrafficPolicy, s *state, percent int) {
	if policy.Annotations == nil {
		policy.Annotations = map[string]string{}
	}
	if policy.Annotations[names.AnnotationShiftEarlier] == "" {
		earlier := none
		if policy.UID != "" || policy.ResourceVersion != "" {
			earlier = text(policy.Spec.Weights)
		}
		policy.Annotations[names.AnnotationShiftEarlier] = earlier
	}
	policy.Annotations[names.AnnotationShift] = text(s)
	policy.Spec.Weights = nextWeights(s.Others, s.To, percent)
}

// restore removes a shift from a policy. It returns whether the policy is to be deleted: the shift created it, and nobody has
// added a target or selectors since.
func restore(policy *trafficv1alpha1.TrafficPolicy) (isOurs bool, _ error) {
	earlier := policy.Annotations[names.AnnotationShiftEarlier]
	if policy.Spec.Weights = nil; earlier != none {
		if err := json.Unmarshal([]byte(earlier), &policy.Spec.Weights); err != nil {
			return false, fmt.Errorf("the annotation %s of TrafficPolicy %s/%s is not valid. Set the weights that you want, and remove the annotations %[1]s and %[4]s", names.AnnotationShiftEarlier, policy.Namespace, policy.Name, names.AnnotationShift)
		}
	}
	delete(policy.Annotations, names.AnnotationShift)
	delete(policy.Annotations, names.AnnotationShiftEarlier)
	return earlier == none && len(policy.Spec.TargetRefs) == 1 && len(policy.Spec.ClusterSelectors) == 0, nil
}

func text(value any) string {
	data, _ := json.Marshal(value) // these types always marshal
	if string(data) == "null" {
		return "[]"
	}
	return string(data)
}

// list joins steps as in the flag.
func list(steps []int) string {
	words := make([]string, len(steps))
	for i, s := range steps {
		words[i] = strconv.Itoa(s)
	}
	return strings.Join(words, ",")
}

// weightsText prints weights.
func weightsText(weights []trafficv1alpha1.ClusterWeight) string {
	words := make([]string, len(weights))
	for i, w := range weights {
		words[i] = fmt.Sprintf("%s=%d", w.Cluster, w.Weight)
	}
	return strings.Join(words, " ")
}

// sharesText prints the shares that a policy's status reports, or "" if it reports none.
func sharesText(weights []trafficv1alpha1.WeightStatus) string {
	words := make([]string, 0, len(weights))
	for _, w := range weights {
		if w.SharePercent == nil {
			words = append(words, fmt.Sprintf("%s has no usable endpoint", w.Cluster))
			continue
		}
		words = append(words, fmt.Sprintf("%s %d %% (%d active)", w.Cluster, *w.SharePercent, w.Active))
	}
	return strings.Join(words, ", ")
}
