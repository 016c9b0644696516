package member

import (
	"strings"
	"testing"

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
