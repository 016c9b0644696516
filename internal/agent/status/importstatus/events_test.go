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
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Each Event counts towards the limit of the member that caused it, whatever the import's name.
func TestEventsNameTheirMember(t *testing.T) {
	lost := func(member names.ClusterID) map[about]string {
		return map[about]string{{member, importedslice.ReasonClusterLost}: "lost"}
	}
	two := []warning{{"c2", status.Warning{Reason: "EndpointsRefused"}}, {"c3", status.Warning{Reason: importedslice.ReasonClusterLost}}}
	for name, tt := range map[string]struct {
		event       *metav1.Condition
		warnings    []warning
		added, gone map[about]string
		members     []string
	}{
		"the import is ready":      {event: &metav1.Condition{Status: metav1.ConditionTrue, Reason: "Ready"}, members: []string{""}},
		"warnings of two members":  {warnings: two, added: map[about]string{{"c2", "EndpointsRefused"}: "", {"c3", importedslice.ReasonClusterLost}: ""}, members: []string{"c2", "c3"}},
		"one of them is new":       {warnings: two, added: lost("c3"), members: []string{"c3"}},
		"a warning of the Service": {warnings: []warning{{"", status.Warning{Reason: "R"}}}, added: map[about]string{{"", "R"}: ""}, members: []string{""}},
		"a member is back":         {gone: lost("c2"), members: []string{"c2"}},
		"a lost member has left":   {gone: lost("c4")},
	} {
		t.Run(name, func(t *testing.T) {
			recorder := status.NewBounded(events.NewFakeRecorder(10), time.Now)
			r := &Reconciler{cluster: &inputs.Cluster{ID: "c1"}, recorder: recorder}
			imp := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c9"}}
			clusters := []mcsv1beta1.ClusterStatus{{Cluster: "c2"}, {Cluster: "c3"}}
			r.say(imp, decision{status: mcsv1beta1.ServiceImportStatus{Clusters: clusters}, warnings: tt.warnings, event: tt.event}, tt.added, tt.gone)
			if got := slices.Sorted(maps.Keys(recorder.LeftOut())); !slices.Equal(got, tt.members) {
				t.Errorf("the Events are of members %q, want %q", got, tt.members)
			}
		})
	}
}
