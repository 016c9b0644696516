package inputs

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit"
)

// A policy that was deleted and created again within one event has the same generation.
func TestTargetsOfPolicyCreatedAgain(t *testing.T) {
	policy := func(uid types.UID, service string) *trafficv1alpha1.TrafficPolicy {
		return &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "policy", UID: uid, Generation: 1}, Spec: trafficv1alpha1.TrafficPolicySpec{
			TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Kind: KindImport, Name: service}},
		}}
	}
	for uid, want := range map[types.UID]int{"1": 0, "2": 2} {
		e := kit.Event[*trafficv1alpha1.TrafficPolicy]{Old: policy("1", "web"), New: policy(uid, "api")}
		if got := Targets(e, KindImport); len(got) != want {
			t.Errorf("UID %s: %v are queued, want %d", uid, got, want)
		}
	}
}
