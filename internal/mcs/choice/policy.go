package choice

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// MaxSelectors is the draft's limit.
	MaxSelectors = 16
	// MaxWeight is Gateway API's limit of a backend's weight.
	MaxWeight = 1_000_000
)

// Policy says which clusters are preferred, and how traffic is shared. Weights apply within the preferred group.
type Policy struct {
	// Selectors are groups of clusters, the most preferred first. A cluster is in the first group that matches it.
	Selectors []Selector
	// Fallback is for clusters that no selector matches. It has no effect without selectors.
	Fallback Fallback
	// Weights are the weights of clusters; the first that names or matches a cluster counts.
	Weights []Weight
}

// The API's own types.
type (
	// Fallback says what happens when no selected cluster has a usable endpoint.
	Fallback = trafficv1alpha1.Fallback
	// Selector matches clusters by their properties. All requirements must hold.
	Selector = trafficv1alpha1.PropertySelector
	// Expression is one requirement of a Selector.
	Expression = trafficv1alpha1.PropertyExpression
)

const (
	// FallbackToAll is the default.
	FallbackToAll  = trafficv1alpha1.FallbackAll
	FallbackToNone = trafficv1alpha1.FallbackNone
	// SameAsImporter is the value of a selector that stands for the importing cluster's.
	SameAsImporter = trafficv1alpha1.SameAsImporter
)

// Weight is the weight of a cluster, or of each cluster that a selector matches.
type Weight struct {
	Cluster  names.ClusterID
	Selector *Selector
	Weight   int32
}

// Validate returns why a policy must be refused.
func (p *Policy) Validate() error {
	if len(p.Selectors) > MaxSelectors {
		return fmt.Errorf("the policy has %d cluster selectors, but at most %d are allowed", len(p.Selectors), MaxSelectors)
	}
	selectors := slices.Clone(p.Selectors)
	for _, w := range p.Weights {
		if w.Weight < 0 || w.Weight > MaxWeight {
			return fmt.Errorf("weight %d is not between 0 and %d", w.Weight, MaxWeight)
		}
		if w.Selector != nil {
			selectors = append(selectors, *w.Selector)
		}
	}
	for _, s := range selectors {
		for _, e := range s.MatchExpressions {
			if err := validate(e); err != nil {
				return err
			}
		}
	}
	return nil
}

func validate(e Expression) error {
	switch e.Operator {
	case metav1.LabelSelectorOpIn, metav1.LabelSelectorOpNotIn:
		if len(e.Values) == 0 {
			return fmt.Errorf("the expression for property %q has operator %s, but no values", e.Key, e.Operator)
		}
	case metav1.LabelSelectorOpExists, metav1.LabelSelectorOpDoesNotExist:
		if len(e.Values) > 0 {
			return fmt.Errorf("the expression for property %q has operator %s, which takes no values", e.Key, e.Operator)
		}
	default:
		return fmt.Errorf("the expression for property %q has the unknown operator %q", e.Key, e.Operator)
	}
	return nil
}

// properties are those of a cluster.
type properties struct {
	id     names.ClusterID
	values map[string]string
}

func (p properties) get(key string) (string, bool) {
	if key == aboutv1beta1.ClusterIDProperty {
		return p.id.String(), true
	}
	value, ok := p.values[key]
	return value, ok
}

// resolve returns the value that a selector's value stands for. It returns false if the importer lacks the property.
func (p properties) resolve(key, value string) (string, bool) {
	if value != SameAsImporter {
		return value, true
	}
	return p.get(key)
}

func matches(s Selector, cluster, importer properties) bool {
	for key, value := range s.MatchProperties {
		if !holds(Expression{Key: key, Operator: metav1.LabelSelectorOpIn, Values: []string{value}}, cluster, importer) {
			return false
		}
	}
	for _, e := range s.MatchExpressions {
		if !holds(e, cluster, importer) {
			return false
		}
	}
	return true
}

// holds follows label selectors: NotIn also matches a cluster without the property. NotIn matches nothing if the
// importer lacks the property that it refers to, because the value to avoid is unknown.
func holds(e Expression, cluster, importer properties) bool {
	value, has := cluster.get(e.Key)
	listed := false
	for _, v := range e.Values {
		wanted, known := importer.resolve(e.Key, v)
		if !known && e.Operator == metav1.LabelSelectorOpNotIn {
			return false
		}
		listed = listed || known && has && wanted == value
	}
	switch e.Operator {
	case metav1.LabelSelectorOpIn:
		return listed
	case metav1.LabelSelectorOpNotIn:
		return !listed
	case metav1.LabelSelectorOpExists:
		return has
	case metav1.LabelSelectorOpDoesNotExist:
		return !has
	}
	return false
}

// forbidden is the group of clusters whose endpoints are never written.
const forbidden = -1

// groups returns each cluster's group, 0 for the most preferred, and the clusters that match each selector.
func (s *Service) groups() (groups []int, results [][]names.ClusterID) {
	importer := properties{s.Importer, s.ImporterProperties}
	last := len(s.Policy.Selectors)
	if s.Policy.Fallback == FallbackToNone && last > 0 {
		last = forbidden
	}
	groups, results = make([]int, len(s.Clusters)), make([][]names.ClusterID, len(s.Policy.Selectors))
	for i := range s.Clusters {
		c := &s.Clusters[i]
		groups[i] = last
		for j := len(results) - 1; j >= 0; j-- {
			if matches(s.Policy.Selectors[j], properties{c.ID, c.Properties}, importer) {
				if groups[i] = j; !c.Drained && !c.Silent {
					results[j] = append(results[j], c.ID)
				}
			}
		}
	}
	return groups, results
}

// unlisted is the weight of a cluster that no weight lists.
const unlisted = -1

// weights returns each cluster's weight, or nil if the policy has none.
func (s *Service) weights() []int64 {
	if len(s.Policy.Weights) == 0 {
		return nil
	}
	importer := properties{s.Importer, s.ImporterProperties}
	weights := make([]int64, len(s.Clusters))
	for i := range s.Clusters {
		c := &s.Clusters[i]
		j := slices.IndexFunc(s.Policy.Weights, func(w Weight) bool {
			return w.Cluster == c.ID || w.Selector != nil && matches(*w.Selector, properties{c.ID, c.Properties}, importer)
		})
		if weights[i] = unlisted; j >= 0 {
			weights[i] = int64(max(s.Policy.Weights[j].Weight, 0))
		}
	}
	return weights
}
