package membership

import (
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestLimits: each way to weaken what limits members is found by check, by "members list" and before a join file is created,
// and "broker deploy" restores it. What an administrator sets is no difference.
func TestLimits(t *testing.T) {
	deployBroker(t)
	permitAllAfterwards(t)
	must(t, "", "broker deploy --context broker --default-exports deny --token-lifetime 24h")
	must(t, "", "broker members set c1 --owns shop --ranges 10.1.0.0/16 --context broker")
	defer must(t, "", "broker deploy --context broker --default-exports allow --token-lifetime 168h")
	expect := func(problem string) {
		t.Helper()
		list := atoll("", "broker members list --context broker")
		create := atoll("", "broker token create c1 --context broker --server "+server(t))
		want := check.OK
		if problem != "" {
			want = check.Error
			planes.Says(t, "members list", list.Stderr, problem, "atoll broker deploy --clusterset atoll-clusterset --context broker")
			planes.Says(t, "token create", create.Stderr, problem, "atoll broker deploy --clusterset atoll-clusterset --context broker")
		}
		if list.Status != 0 || problem == "" && strings.Contains(list.Stderr, "warning") || (create.Status == 0) != (problem == "") {
			t.Errorf("with %q: members list: status %d, %s; token create: status %d, %s", problem, list.Status, list.Stderr, create.Status, create.Stderr)
		}
		if got := checked(t, "--context broker"); got[check.Limits.ID] != want || len(got) != 3 {
			t.Errorf("with %q, check says %v", problem, got)
		}
	}
	expect("")
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: objects.Meta("", rights.MemberPolicyName(place))}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: objects.Meta("", rights.MemberPolicyName(place))}
	joiners := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: objects.Meta("", rights.JoinerPolicyName(place))}
	role := &rbacv1.Role{ObjectMeta: objects.Meta(place, rights.MemberRole)}
	const differs = " differs from that of this version of atoll"
	change := func(o client.Object, f func()) {
		t.Helper()
		planes.Read(t, on[lab.Broker], o)
		f()
		noError(t, on[lab.Broker].Update(t.Context(), o))
	}
	for _, c := range []struct {
		problem string
		weaken  func()
	}{
		{"ValidatingAdmissionPolicyBinding " + binding.Name + " is missing", func() { planes.Delete(t, on[lab.Broker], binding.DeepCopy()) }},
		{"ValidatingAdmissionPolicy " + joiners.Name + " is missing", func() { planes.Delete(t, on[lab.Broker], joiners.DeepCopy()) }},
		{"ValidatingAdmissionPolicy " + policy.Name + differs, func() {
			change(policy, func() { policy.Spec.Validations = []admissionv1.Validation{{Expression: "true"}} })
		}},
		{"ValidatingAdmissionPolicy " + policy.Name + differs, func() {
			change(policy, func() {
				policy.Spec.MatchConditions = append(policy.Spec.MatchConditions, admissionv1.MatchCondition{Name: "none", Expression: "false"})
			})
		}},
		{"ValidatingAdmissionPolicy " + policy.Name + differs, func() {
			change(policy, func() {
				policy.Spec.MatchConstraints.ExcludeResourceRules = policy.Spec.MatchConstraints.ResourceRules
			})
		}},
		{"ValidatingAdmissionPolicyBinding " + binding.Name + differs, func() {
			change(binding, func() { binding.Spec.ValidationActions = []admissionv1.ValidationAction{admissionv1.Audit} })
		}},
		{"ValidatingAdmissionPolicyBinding " + binding.Name + differs, func() {
			change(binding, func() {
				binding.Spec.MatchResources = &admissionv1.MatchResources{ObjectSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"none": "none"}}}
			})
		}},
		{"Role " + place + "/" + role.Name + differs, func() {
			change(role, func() { role.Rules[0].ResourceNames = nil })
		}},
	} {
		c.weaken()
		expect(c.problem)
		must(t, "", "broker deploy --context broker")
		expect("")
	}
}
