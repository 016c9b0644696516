package member

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// Pitfall 34: an id belongs to the cluster that has it, whatever else that says of itself.
func TestAnIDIsOneClusters(t *testing.T) {
	c := &Controller{spec: brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "mine", Region: "here"}}
	own := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "mine", Region: "there"}}
	if err := c.conflict(own); err != nil {
		t.Errorf("its own entry: %v", err)
	}
	others := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: "c1", ClusterUID: "another", Region: "here"}}
	err := c.conflict(others)
	if err == nil {
		t.Fatal("another cluster's entry is taken for its own")
	}
	for _, words := range []string{`"c1"`, "mine", "another", "choose another id"} {
		if !strings.Contains(err.Error(), words) {
			t.Errorf("the message does not say %s: %v", words, err)
		}
	}
}

// Who is over budget, the leader alone decides; other replicas leave what it has written.
func TestOneReplicaNamesMembersOverBudget(t *testing.T) {
	written := []brokerv1alpha1.OverBudget{{ClusterID: "c2", Reason: brokerv1alpha1.OverBudgetObjects}}
	decided := []brokerv1alpha1.OverBudget{{ClusterID: "c3", Reason: brokerv1alpha1.OverBudgetBytes}}
	have := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{OverBudget: written}}
	c := &Controller{}
	if diff := cmp.Diff(written, c.want(have).OverBudget); diff != "" {
		t.Errorf("without a decision (-want +got):\n%s", diff)
	}
	c.OverBudget = func([]brokerv1alpha1.OverBudget) []brokerv1alpha1.OverBudget { return decided }
	for _, have := range []*brokerv1alpha1.MemberCluster{have, nil} {
		if diff := cmp.Diff(decided, c.want(have).OverBudget); diff != "" {
			t.Errorf("with one (-want +got):\n%s", diff)
		}
	}
}
