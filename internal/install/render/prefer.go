package render

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Preference is the cluster's default TrafficPolicy. The zero value writes none, and keeps an existing policy.
type Preference string

// PreferLocal prefers endpoints of the importing cluster.
const PreferLocal Preference = "local"

// Set implements pflag.Value.
func (p *Preference) Set(text string) error {
	if *p = Preference(text); *p != "" && *p != PreferLocal {
		return fmt.Errorf("the value must be %s", PreferLocal)
	}
	return nil
}

// String implements pflag.Value.
func (p *Preference) String() string { return string(*p) }

// Type implements pflag.Value.
func (p *Preference) Type() string { return "string" }

// Policy returns the TrafficPolicy, or nil.
func (p Preference) Policy() *trafficv1alpha1.TrafficPolicy {
	if p == "" {
		return nil
	}
	return &trafficv1alpha1.TrafficPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: trafficv1alpha1.GroupVersion.String(), Kind: trafficv1alpha1.TrafficPolicyKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: trafficv1alpha1.DefaultPolicy},
		Spec: trafficv1alpha1.TrafficPolicySpec{Preference: trafficv1alpha1.Preference{
			ClusterSelectors: []trafficv1alpha1.ClusterGroup{{PropertySelector: trafficv1alpha1.PropertySelector{
				MatchProperties: map[string]string{aboutv1beta1.ClusterIDProperty: trafficv1alpha1.SameAsImporter},
			}}},
			Fallback: trafficv1alpha1.FallbackAll,
		}},
	}
}

func (p Preference) objects() []client.Object {
	if policy := p.Policy(); policy != nil {
		return []client.Object{policy}
	}
	return nil
}
