package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/survey"
)

// TestExplainLeftOut: what is beyond a limit is said to be, where the agents say so; where they could not be
// asked, it is one of several reasons.
func TestExplainLeftOut(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	without := func(s *survey.Survey) { // c2's part
		s.Cluster.Imports[0].Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}}
		s.Cluster.Slices = s.Cluster.Slices[:1]
	}
	for name, c := range map[string]struct {
		with  func(*survey.Survey)
		works bool
		find  string // the finding about it, "" for none
		why   string // why c2 has fewer endpoints here
	}{
		"nothing is": {func(s *survey.Survey) { s.LeftOut = map[string]survey.LeftOut{"c2": {}} }, true, "", ""},
		"others of c2's services, not this one": {
			func(s *survey.Survey) { s.LeftOut = map[string]survey.LeftOut{"c2": {Services: 3}} }, true, "", "",
		},
		"c2's service": {func(s *survey.Survey) {
			without(s)
			s.LeftOut = map[string]survey.LeftOut{"c2": {Services: 3}}
		}, true, "warning import c2 exports more services than this cluster takes of one, and 3 are left out", "--max-services-per-member"},
		"everybody's": {func(s *survey.Survey) {
			s.Cluster.Imports, s.Cluster.Slices = nil, nil
			s.LeftOut = map[string]survey.LeftOut{"c1": {Services: 1}, "c2": {Services: 3}}
		}, false, "error import c1 exports more services than this cluster takes of one, and 1 are left out", "--max-services-per-member"},
		"endpoints of c2's": {func(s *survey.Survey) {
			s.Cluster.Slices = s.Cluster.Slices[:1]
			s.LeftOut = map[string]survey.LeftOut{"c2": {Endpoints: 7}}
		}, true, "", "7 are left out (--max-endpoints-per-member)"},
		"some are missing, and it is not the limit": {func(s *survey.Survey) {
			s.Cluster.Slices[1].Endpoints = nil
			s.Broker.Slices = append(s.Broker.Slices, slicesOf("c2", "10.2.0.2"))
			s.Cluster.Slices[1] = slicesOf("c2", "10.2.0.1")
			s.LeftOut = map[string]survey.LeftOut{}
		}, true, "", "has their addresses itself (see Events"},
		"nobody knows": {func(s *survey.Survey) {
			s.Broker.Slices = append(s.Broker.Slices, slicesOf("c2", "10.2.0.2"))
		}, true, "", "takes no more of that cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			s := clusterset()
			c.with(s)
			x := Explain(s, web)
			found := ""
			for _, f := range x.Findings {
				found += string(f.Severity) + " " + f.About + " " + f.Message + "\n"
			}
			if x.Works != c.works || !strings.Contains(found, c.find) || c.find == "" && strings.Contains(found, "left out") {
				t.Errorf("works %v, want %v; it says %q, want %q", x.Works, c.works, found, c.find)
			}
			for _, source := range x.Sources {
				if source.Cluster == "c2" && (!strings.Contains(source.Why, c.why) || c.why == "" && source.Why != "") {
					t.Errorf("of c2 it says %q, want %q", source.Why, c.why)
				}
			}
		})
	}
}

// TestOverBudget: a member that exceeds another one's budget is named by all commands, in whichever cluster they ask.
func TestOverBudget(t *testing.T) {
	s := clusterset()
	s.Broker.Members[2].Spec.OverBudget = []brokerv1alpha1.OverBudget{
		{ClusterID: "c2", Reason: brokerv1alpha1.OverBudgetChanges, Until: ptr.To(ago(-60))}, {ClusterID: "no id", Reason: "objects"},
	}
	s.Broker.Members[0].Spec.OverBudget = []brokerv1alpha1.OverBudget{{ClusterID: "c2", Reason: brokerv1alpha1.OverBudgetObjects}}
	s.Broker.Slices = append(s.Broker.Slices, slicesOf("c2", "10.2.0.2"))
	const until = "changes until 2026-01-02T03:05:05Z"
	if diff := cmp.Diff(map[string]string{"c1": "objects", "c3": until}, Members(s)[1].OverBudgetOf); diff != "" {
		t.Errorf("c2 is over budget of (-want +got):\n%s", diff)
	}
	found := told(NewStatus(s).Findings)
	for _, want := range []string{"warning cluster c2: c1 takes only a part of what c2 publishes", "warning cluster c2: c3 takes only a part", until} {
		if !strings.Contains(found, want) {
			t.Errorf("status says %q, not %q", found, want)
		}
	}
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	why := func() string { return Explain(s, web).Sources[1].Why }
	if got := why(); !strings.Contains(got, until) {
		t.Errorf("explain says of c2: %q", got)
	}
	s.Broker.Members[2].Spec.OverBudget = s.Broker.Members[0].Spec.OverBudget
	if got := why(); !strings.Contains(got, "(objects)") {
		t.Errorf("explain says of c2: %q", got)
	}
	s.Broker.Heartbeats = nil
	if of := Members(s)[1].OverBudgetOf; len(of) > 0 {
		t.Errorf("clusters without heartbeat count: %v", of)
	}
}
