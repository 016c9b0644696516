package choice

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// policyNamed is a policy whose only selector has the policy's name as value, so that tests can tell whose preference applies.
func policyNamed(name string, second int64) *trafficv1alpha1.TrafficPolicy {
	return &trafficv1alpha1.TrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(second, 0)},
		Spec:       trafficv1alpha1.TrafficPolicySpec{Preference: *preferenceNamed(name)},
	}
}

func preferenceNamed(name string) *trafficv1alpha1.Preference {
	return &trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{
		{PropertySelector: trafficv1alpha1.PropertySelector{MatchProperties: map[string]string{"a": name}}},
	}}
}

func TestOldest(t *testing.T) {
	a, b, c := policyNamed("a", 2), policyNamed("b", 1), policyNamed("c", 1)
	if got := Oldest([]*trafficv1alpha1.TrafficPolicy{a, c, b}); got != b {
		t.Errorf("%s", got.Name)
	}
	if Oldest(nil) != nil {
		t.Error("one of no policies")
	}
}

func TestPreferenceOf(t *testing.T) {
	export := func(id string, second int64, p *trafficv1alpha1.Preference) brokerv1alpha1.ExportedServiceSpec {
		return brokerv1alpha1.ExportedServiceSpec{ClusterID: id, ExportedAt: metav1.NewTime(time.Unix(second, 0)), Preference: p}
	}
	weighted, none := preferenceNamed("c2"), preferenceNamed("c2")
	weighted.Weights = []trafficv1alpha1.ClusterWeight{{Cluster: "c3", Weight: 1}}
	none.Fallback = trafficv1alpha1.FallbackNone
	young := export("c3", 9, preferenceNamed("c3"))
	for name, tt := range map[string]struct {
		own, byDefault *trafficv1alpha1.TrafficPolicy
		exports        []brokerv1alpha1.ExportedServiceSpec
		accepts        names.ClusterID
		want           string // "" for no preference
		weights        int
		ignored        bool
	}{
		"nothing":                    {exports: []brokerv1alpha1.ExportedServiceSpec{export("c2", 1, nil)}},
		"the import's own":           {own: policyNamed("own", 1), byDefault: policyNamed("default", 1), exports: []brokerv1alpha1.ExportedServiceSpec{young}, want: "own"},
		"the oldest export's":        {byDefault: policyNamed("default", 1), exports: []brokerv1alpha1.ExportedServiceSpec{young, export("c2", 1, preferenceNamed("c2"))}, want: "c2"},
		"the oldest export has none": {byDefault: policyNamed("default", 1), exports: []brokerv1alpha1.ExportedServiceSpec{young, export("c2", 1, nil)}, want: "default"},
		"by default":                 {byDefault: policyNamed("default", 1), want: "default"},
		"another cluster's weights":  {exports: []brokerv1alpha1.ExportedServiceSpec{export("c2", 1, weighted)}, want: "c2", ignored: true},
		"another cluster's fallback": {exports: []brokerv1alpha1.ExportedServiceSpec{export("c2", 1, none)}, want: "c2", ignored: true},
		"another cluster's weights alone leave the default": {
			byDefault: policyNamed("default", 1), want: "default", ignored: true,
			exports: []brokerv1alpha1.ExportedServiceSpec{export("c2", 1, &trafficv1alpha1.Preference{Weights: weighted.Weights})},
		},
		"another cluster's, accepted":    {exports: []brokerv1alpha1.ExportedServiceSpec{export("c2", 1, weighted)}, accepts: "c2", want: "c2", weights: 1},
		"this cluster's export":          {exports: []brokerv1alpha1.ExportedServiceSpec{export("c1", 1, weighted)}, want: "c2", weights: 1},
		"accepted from another cluster":  {exports: []brokerv1alpha1.ExportedServiceSpec{export("c2", 1, weighted)}, accepts: "c3", want: "c2", ignored: true},
		"an order alone needs no accept": {exports: []brokerv1alpha1.ExportedServiceSpec{young}, want: "c3"},
	} {
		p := PreferenceOf(tt.own, tt.byDefault, tt.exports, "c1", func(id names.ClusterID) bool { return id == tt.accepts })
		got, weights := "", 0
		if p.Preference != nil {
			got, weights = p.ClusterSelectors[0].PropertySelector.MatchProperties["a"], len(p.Weights)
		}
		if from := p.Policy; from != nil && from.Name != tt.want || (from != nil) == (p.Exporter != "") && tt.want != "" {
			t.Errorf("%s: from %v, %q", name, from, p.Exporter)
		}
		if got != tt.want || weights != tt.weights || (p.Ignored == "c2") != tt.ignored || tt.ignored && p.Preference != nil && p.Fallback == trafficv1alpha1.FallbackNone {
			t.Errorf("%s: %q with %d weights, ignored %q", name, got, weights, p.Ignored)
		}
	}
}

// The agent's region is a property, unless the cluster has one of that name.
func TestPropertiesOf(t *testing.T) {
	for _, tt := range []struct {
		region, property, want string
	}{{"", "", ""}, {"eu", "", "eu"}, {"eu", "us", "us"}, {"", "us", "us"}} {
		m := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{Region: tt.region}}
		if tt.property != "" {
			m.Spec.Properties = map[string]brokerv1alpha1.PropertyValue{"region": brokerv1alpha1.PropertyValue(tt.property)}
		}
		if got := PropertiesOf(m)["region"]; got != tt.want {
			t.Errorf("%+v: %q", tt, got)
		}
	}
}

func TestPolicyOf(t *testing.T) {
	order, weights := preferenceNamed("x"), &trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{
		{Cluster: "c1", Weight: 2}, {PropertySelector: &trafficv1alpha1.PropertySelector{MatchProperties: map[string]string{"region": "eu"}}, Weight: 1},
	}}
	all := &trafficv1alpha1.Preference{ClusterSelectors: order.ClusterSelectors, Fallback: "None", Weights: weights.Weights}
	for name, tt := range map[string]struct {
		preference                        *trafficv1alpha1.Preference
		headless, distribution, clusterIP bool
		applies, refused                  bool // both: without its weights
	}{
		"none":                              {nil, false, false, false, false, false},
		"empty":                             {&trafficv1alpha1.Preference{Fallback: "None"}, true, true, true, false, false},
		"an order":                          {order, false, false, false, true, false},
		"an order and traffic distribution": {order, false, true, false, true, false},
		"an order and cluster IPs":          {order, false, false, true, true, false},
		"headless":                          {order, true, false, false, false, true},
		"weights":                           {weights, false, false, false, true, false},
		"weights and traffic distribution":  {weights, false, true, false, false, true},
		"weights and cluster IPs":           {weights, false, false, true, false, true},
		"all, and traffic distribution":     {all, false, true, false, true, true},
		"all, and cluster IPs":              {all, false, false, true, true, true},
	} {
		policy, err := PolicyOf(tt.preference, tt.headless, tt.distribution, tt.clusterIP)
		if (policy != nil) != tt.applies || tt.refused && policy != nil && (len(policy.Weights) > 0 || policy.Fallback != "None") || (err != nil) != tt.refused || IsHeadless(err) != (name == "headless") {
			t.Errorf("%s: %+v, %v", name, policy, err)
		}
	}
	policy, _ := PolicyOf(weights, false, false, false)
	if w := policy.Weights; w[0].Cluster != "c1" || w[0].Weight != 2 || w[0].Selector != nil || w[1].Selector.MatchProperties["region"] != "eu" || w[1].Weight != 1 {
		t.Errorf("%+v", w)
	}
}
