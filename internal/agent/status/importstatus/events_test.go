package importstatus

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/imports/importedslice"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/kit/status"
)

// Each Event counts towards the limit of the member that causes it, whatever the import's name.
func TestEventsNameTheirMember(t *testing.T) {
	ready := func(message string) []metav1.Condition {
		return []metav1.Condition{{Type: string(mcsv1beta1.ServiceImportConditionReady), Status: metav1.ConditionTrue, Reason: "Ready", Message: message}}
	}
	for name, tt := range map[string]struct {
		before, now string
		transition  bool
		warnings    []warning
		members     []string
	}{
		"the import is ready":       {now: "It is.", transition: true, members: []string{""}},
		"warnings of two members":   {warnings: []warning{{"c2", status.Warning{Reason: "EndpointsRefused"}}, {"c3", status.Warning{Reason: importedslice.ReasonClusterLost}}}, before: "-", members: []string{"c2", "c3"}},
		"a warning of the Service":  {warnings: []warning{{"", status.Warning{Reason: "DistributionUnsupported"}}}, before: "-", members: []string{""}},
		"a member is back":          {before: importedslice.LostMessage("c2"), members: []string{"c2"}},
		"another member stays lost": {before: importedslice.LostMessage("c2") + importedslice.LostMessage("c3"), now: importedslice.LostMessage("c3"), members: []string{"c2"}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range tt.warnings {
				tt.warnings[i].Message = "It is refused."
			}
			recorder := status.NewBounded(events.NewFakeRecorder(10), time.Now)
			r := &Reconciler{cluster: &inputs.Cluster{ID: "c1"}, recorder: recorder}
			have := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c9"}}
			have.Status.Conditions = ready(tt.before)
			r.say(have, mcsv1beta1.ServiceImportStatus{
				Conditions: ready(tt.now), Clusters: []mcsv1beta1.ClusterStatus{{Cluster: "c2"}, {Cluster: "c3"}},
			}, tt.transition, tt.warnings)
			if got := slices.Sorted(maps.Keys(recorder.LeftOut())); !slices.Equal(got, tt.members) {
				t.Errorf("the Events are of members %q, want %q", got, tt.members)
			}
		})
	}
}
