package setup

import (
	"fmt"
	"testing"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// Pitfall 34: records name their owner. So a cluster that uses another cluster's id does not
// delete the other cluster's records when it leaves.
func TestOwnerOfRecords(t *testing.T) {
	entry := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{ClusterUID: "theirs"}}
	left := entry.DeepCopy()
	left.Spec.State = brokerv1alpha1.MemberRemoved
	for entry, want := range map[*brokerv1alpha1.MemberCluster]string{entry: "theirs", left: "", nil: ""} {
		if got := (&records{entry: entry}).owner(); got != want {
			t.Errorf("the owner is %q, want %q", got, want)
		}
	}
}

// A dry run does not say that the command stops or removes anything.
func TestAnnounce(t *testing.T) {
	for dryRun, want := range map[bool]string{false: "stopping the agents", true: "would stop the agents"} {
		var said string
		LeaveRequest{DryRun: dryRun}.announce(func(format string, args ...any) { said = fmt.Sprintf(format, args...) }, "stopping", "stop", "the agents")
		if said != want {
			t.Errorf("dry run %t: %q, want %q", dryRun, said, want)
		}
	}
}
