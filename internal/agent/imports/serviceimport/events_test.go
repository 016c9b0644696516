package serviceimport

import (
	"maps"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

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

// The Event about an import that cannot be created is repeated before API servers delete it, but not with each attempt.
func TestRefusedImportIsRepeated(t *testing.T) {
	recorder := events.NewFakeRecorder(10)
	r := &Reconciler{recorder: recorder}
	web, none := types.NamespacedName{Namespace: "shop", Name: "web"}, &mcsv1beta1.ServiceImport{}
	exists := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{UID: "1"}}
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		minutes int
		have    *mcsv1beta1.ServiceImport
		why     string
		want    int
	}{
		{0, none, "quota", 1}, {1, none, "quota", 0}, {29, none, "quota", 0}, {30, none, "quota", 1}, {31, none, "quota", 0},
		{32, exists, "quota", 1}, {90, exists, "quota", 0}, {91, exists, "", 0}, {92, none, "quota", 1}, {121, none, "quota", 0}, {122, none, "quota", 1},
	} {
		r.sayRefused(web, tt.have, nil, tt.why, start.Add(time.Duration(tt.minutes)*time.Minute))
		if got := len(recorder.Events); got != tt.want {
			t.Errorf("minute %d: %d Events, want %d", tt.minutes, got, tt.want)
		}
		for len(recorder.Events) > 0 {
			<-recorder.Events
		}
	}
}
