package serviceimport

import (
	"maps"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// An Event about a refused export counts towards the limit of the exporting member, whatever
// the service's name.
func TestRefusedExportNamesItsMember(t *testing.T) {
	recorder := status.NewBounded(events.NewFakeRecorder(10), time.Now)
	r := &Reconciler{recorder: recorder}
	r.sayLeftOut(types.NamespacedName{Namespace: "kube-system", Name: "c9"}, local.Exported{
		LeftOut: []local.LeftOut{{Cluster: "c2", Reason: refusal.SystemNamespace}},
	})
	if got := slices.Sorted(maps.Keys(recorder.LeftOut())); !slices.Equal(got, []string{"c2"}) {
		t.Errorf("the Events are of members %q, want c2", got)
	}
}
