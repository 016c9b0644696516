package trafficstatus

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func policy(weights ...trafficv1alpha1.ClusterWeight) *trafficv1alpha1.TrafficPolicy {
	return &trafficv1alpha1.TrafficPolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p", Generation: 3},
		Spec:       trafficv1alpha1.TrafficPolicySpec{Preference: trafficv1alpha1.Preference{Weights: weights}},
	}
}

func TestAccepted(t *testing.T) {
	_, headless := choice.PolicyOf(&trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{{Cluster: "c1"}}}, true, false, false)
	for name, tt := range map[string]struct {
		kind, winner string
		exists       bool
		oldest       names.ClusterID
		invalid      error
		isDefault    bool
		reason, says string
	}{
		"an import":             {inputs.KindImport, "p", true, "", nil, false, "Accepted", "in this cluster"},
		"an export":             {inputs.KindExport, "p", true, "", nil, false, "Accepted", "in all clusters"},
		"the default":           {"", "", false, "", nil, true, "Accepted", "except headless services."},
		"an older policy":       {inputs.KindImport, "other", true, "", errors.New("x"), false, "Conflicted", "TrafficPolicy other"},
		"no target":             {inputs.KindImport, "p", false, "", nil, false, "TargetNotFound", "no ServiceImport web"},
		"an older export":       {inputs.KindExport, "p", true, "c2", nil, false, "Conflicted", `export of cluster "c2" is older`},
		"headless":              {inputs.KindImport, "p", true, "", headless, false, "InvalidServiceType", "headless"},
		"invalid for a service": {inputs.KindImport, "p", true, "", errors.New("x"), false, "Invalid", "no effect: x."},
	} {
		one := target{exists: tt.exists, winner: tt.winner, oldest: tt.oldest, invalid: tt.invalid}
		one.Kind, one.Name = tt.kind, "web"
		status := decide(policy(), tt.isDefault, []target{one}, metav1.Now())
		c := status.Targets[0].Conditions[0]
		if c.Reason != tt.reason || !strings.Contains(c.Message, tt.says) || (c.Status == metav1.ConditionTrue) != (tt.reason == "Accepted") || c.ObservedGeneration != 3 {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

// Accepted weights name the clusters that they leave out.
func TestUnlisted(t *testing.T) {
	one := target{exists: true, winner: "p", result: choice.Result{Clusters: []choice.ClusterResult{
		{Cluster: "c1", Decision: choice.Decision{Role: choice.Active, Reason: choice.Preferred}}, {Cluster: "c3", Decision: choice.Decision{Role: choice.Standby, Reason: choice.NoWeight}},
	}}}
	one.Kind = inputs.KindImport
	if got := accepted(policy(trafficv1alpha1.ClusterWeight{Cluster: "c1", Weight: 1}), one, false).Message; !strings.HasSuffix(got, ` The weights do not list "c3". Endpoints of clusters without a weight are on standby.`) {
		t.Error(got)
	}
	zero := policy(trafficv1alpha1.ClusterWeight{Cluster: "c9", Weight: 1})
	one.result.Clusters, one.result.Ports = nil, []choice.PortResult{{Clusters: []choice.ClusterResult{{Cluster: "c1", Active: 1}}}}
	if got := accepted(zero, one, false).Message; !strings.Contains(got, "Its weights have no effect") {
		t.Error(got)
	}
	one.result.Ports[0].Clusters[0].WantedShare = 100
	if got := accepted(zero, one, false).Message; strings.Contains(got, "no effect") {
		t.Error(got)
	}
}

// Without its weights, the rest of a policy applies. An export's weights do not count everywhere.
func TestPartsOfPolicies(t *testing.T) {
	both := policy(trafficv1alpha1.ClusterWeight{Cluster: "c1", Weight: 1})
	both.Spec.ClusterSelectors = make([]trafficv1alpha1.ClusterGroup, 1)
	one := target{exists: true, winner: "p", invalid: errors.New("no weights here"), result: choice.Result{SelectorResults: [][]names.ClusterID{{"c1"}}}}
	one.Kind = inputs.KindImport
	status := decide(both, false, []target{one}, metav1.Now()).Targets[0]
	if c := status.Conditions[0]; c.Status != metav1.ConditionFalse || c.Message != "Only the order of clusters and the fallback apply: no weights here." || len(status.ClusterSelectorResults) != 1 {
		t.Errorf("%+v", status)
	}
	one.Kind, one.invalid = inputs.KindExport, nil
	if got := accepted(both, one, false).Message; !strings.Contains(got, "have an effect only in this cluster") {
		t.Error(got)
	}
	if one.owns = true; strings.Contains(accepted(both, one, false).Message, "count only") {
		t.Error("the owner's weights count")
	}
}

// A status that says the same does not change, so it is not written.
func TestStatusStays(t *testing.T) {
	p, one := policy(), target{exists: true, winner: "p"}
	one.Kind, one.Name = inputs.KindImport, "web"
	p.Status = decide(p, false, []target{one}, metav1.Unix(1, 0))
	if diff := cmp.Diff(p.Status, decide(p, false, []target{one}, metav1.Unix(2, 0))); diff != "" {
		t.Error(diff)
	}
	one.exists = false
	if now := decide(p, false, []target{one}, metav1.Unix(2, 0)); now.Targets[0].Conditions[0].LastTransitionTime.Unix() != 2 {
		t.Errorf("%+v", now)
	}
}

// Shares are those of the port that is farthest from the weights.
func TestResults(t *testing.T) {
	cluster := func(id names.ClusterID, usable, active int, share, wanted float64) choice.ClusterResult {
		return choice.ClusterResult{Cluster: id, Usable: usable, Active: active, Share: share, WantedShare: wanted}
	}
	result := choice.Result{
		SelectorResults: [][]names.ClusterID{{"c1", "c2"}, nil},
		Ports: []choice.PortResult{
			{Port: "0", Clusters: []choice.ClusterResult{cluster("c1", 0, 0, 0, 0)}},
			{Port: "a", Clusters: []choice.ClusterResult{cluster("c1", 9, 9, 90, 90), cluster("c2", 1, 1, 10, 10)}},
			{Port: "b", Clusters: []choice.ClusterResult{cluster("c1", 3, 2, 66.7, 90), cluster("c2", 1, 1, 33.3, 10), cluster("c3", 0, 0, 0, 0)}},
		},
	}
	selected, weights := results(policy(trafficv1alpha1.ClusterWeight{Cluster: "c1", Weight: 9}), result)
	if diff := cmp.Diff([]trafficv1alpha1.ClusterSelectorResult{{Clusters: []string{"c1", "c2"}}, {}}, selected); diff != "" {
		t.Error(diff)
	}
	want := []trafficv1alpha1.WeightStatus{
		{Cluster: "c1", SharePercent: ptr.To(int32(67)), Active: 2}, {Cluster: "c2", SharePercent: ptr.To(int32(33)), Active: 1}, {Cluster: "c3"},
	}
	if diff := cmp.Diff(want, weights); diff != "" {
		t.Error(diff)
	}
	if _, weights := results(policy(), result); weights != nil {
		t.Errorf("without weights: %v", weights)
	}
}

// A policy without targets has no effect, and says so, unless it is the cluster's default.
func TestWithoutTargets(t *testing.T) {
	for isDefault, want := range map[bool]metav1.ConditionStatus{true: metav1.ConditionTrue, false: metav1.ConditionFalse} {
		p := &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Name: "default"}, Spec: trafficv1alpha1.TrafficPolicySpec{
			Preference: trafficv1alpha1.Preference{ClusterSelectors: []trafficv1alpha1.ClusterGroup{{}}},
		}}
		status := decide(p, isDefault, nil, metav1.Now())
		if len(status.Targets) != 1 || len(status.Targets[0].Conditions) != 1 || status.Targets[0].Conditions[0].Status != want {
			t.Errorf("default %v: %+v", isDefault, status)
		}
	}
}
