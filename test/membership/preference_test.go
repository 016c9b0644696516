package membership

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A join writes the cluster's default policy, and replaces no other. Leaving deletes it.
func TestJoinWritesThePreference(t *testing.T) {
	deployBroker(t)
	file := joinFile(t, "c1")
	before := inventory(t, "c1")
	ends(t, 64, file, "join - --no-workloads --context c1 --prefer near", "--prefer", "the value must be local")

	must(t, file, "join - --no-workloads --context c1")
	policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: objects.Meta("atoll-system", "default")}
	expectGone(t, "c1", policy)
	for range 2 { // repeating a join changes nothing
		must(t, file, "join - --no-workloads --context c1 --prefer local")
		planes.Read(t, on["c1"], policy)
		if want := render.PreferLocal.Policy(); !equality.Semantic.DeepEqual(policy.Spec, want.Spec) || policy.Generation != 1 {
			t.Errorf("the policy is %+v, generation %d", policy.Spec, policy.Generation)
		}
	}

	planes.Change(t, on["c1"], policy, func(p *trafficv1alpha1.TrafficPolicy) { p.Spec.Fallback = trafficv1alpha1.FallbackNone })
	for _, mode := range []string{"--dry-run ", ""} {
		refused(t, file, "join - --no-workloads "+mode+"--context c1 --prefer local", "TrafficPolicy atoll-system/default exists and differs from --prefer local",
			"To keep this policy, join without --prefer", "kubectl delete trafficpolicy default -n atoll-system --context c1")
	}
	must(t, file, "join - --no-workloads --context c1") // keeps it
	planes.Read(t, on["c1"], policy)
	if policy.Spec.Fallback != trafficv1alpha1.FallbackNone {
		t.Errorf("the policy is %+v", policy.Spec)
	}
	if plan := must(t, "", "leave --dry-run --context c1"); !strings.Contains(plan, "delete TrafficPolicy atoll-system/default\n") {
		t.Errorf("leave --dry-run printed\n%s", plan)
	}
	must(t, "", "leave --yes --context c1")
	expectInventory(t, "c1", before)
}
