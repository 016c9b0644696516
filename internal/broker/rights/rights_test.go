package rights

import (
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// allows reports whether a user has a permission in a namespace: "verb resource[.group][@name]".
func allows(objects []client.Object, account, request string) bool {
	verb, what, _ := strings.Cut(request, " ")
	what, name, _ := strings.Cut(what, "@")
	resource, group, _ := strings.Cut(what, ".")
	has := func(list []string, one string) bool { return slices.Contains(list, one) || slices.Contains(list, "*") }
	for _, o := range objects {
		binding, ok := o.(*rbacv1.RoleBinding)
		if !ok || !slices.Contains(binding.Subjects, rbacv1.Subject{Kind: "ServiceAccount", Namespace: "set", Name: account}) {
			continue
		}
		for _, o := range objects {
			role, ok := o.(*rbacv1.Role)
			if !ok || role.Name != binding.RoleRef.Name || role.Namespace != binding.Namespace {
				continue
			}
			for _, r := range role.Rules {
				if has(r.Verbs, verb) && has(r.APIGroups, group) && has(r.Resources, resource) && (len(r.ResourceNames) == 0 || slices.Contains(r.ResourceNames, name)) {
					return true
				}
			}
		}
	}
	return false
}

// RBAC permissions of the accounts. Admission policies (test/integration) restrict them
// further.
func TestAccess(t *testing.T) {
	account := func(a Account) []client.Object {
		a.ServiceAccount.UID = "1"
		return a.Rights(a.ServiceAccount)
	}
	objects := slices.Concat(Objects("set"), account(Member("set", "c1")), account(Member("set", "c2")), account(Joiner("set", "c1")))
	const member, joiner = "member-c1", "join-c1"
	for _, tt := range []struct {
		account, request string
		want             bool
	}{
		{member, "create exportedservices.broker.atoll.dev", true},
		{member, "update endpointslices.discovery.k8s.io", true},
		{member, "patch endpointslices.discovery.k8s.io", false},
		{member, "deletecollection endpointslices.discovery.k8s.io", false},
		{member, "watch servicepolicies.broker.atoll.dev", true},
		{member, "list leases.coordination.k8s.io", true},
		{member, "watch leases.coordination.k8s.io", false},
		{member, "update servicepolicies.broker.atoll.dev", false},
		{member, "list configmaps@atoll-members", true},
		{member, "update configmaps@atoll-members", false},
		{member, "get configmaps@another", false},
		{member, "get namespaces@set", true},
		{member, "get namespaces@other", false},
		{member, "get secrets", false},
		{member, "create secrets", false},
		{member, "create pods", false},
		{member, "create rolebindings.rbac.authorization.k8s.io", false},
		{member, "create serviceaccounts/token@member-c1", true},
		{member, "create serviceaccounts/token@member-c2", false},
		{member, "create serviceaccounts/token@join-c1", false},
		{member, "delete serviceaccounts@member-c1", true},
		{member, "delete serviceaccounts@join-c1", true},
		{member, "delete serviceaccounts@member-c2", false},
		{member, "update memberclusters.broker.atoll.dev", true},
		{member, "delete memberclusters.broker.atoll.dev", false},
		{joiner, "create secrets", false},
		{joiner, "create secrets@member-c1-1", true},
		{joiner, "patch secrets@member-c1-1", true},
		{joiner, "patch secrets@member-c1-2", false},
		{joiner, "get namespaces@set", true},
		{joiner, "get secrets", false},
		{joiner, "delete secrets", false},
		{joiner, "get serviceaccounts@member-c1", true},
		{joiner, "create serviceaccounts/token@member-c1", true},
		{joiner, "create serviceaccounts/token@member-c2", false},
		{joiner, "list exportedservices.broker.atoll.dev", false},
		{"another", "get leases.coordination.k8s.io", false},
	} {
		if got := allows(objects, tt.account, tt.request); got != tt.want {
			t.Errorf("%s may %s: %t", tt.account, tt.request, got)
		}
	}
}

func TestHubAccess(t *testing.T) {
	objects := HubAccess("set")
	objects[1].(*rbacv1.RoleBinding).Subjects[0].Namespace = "set" // as allows expects
	for request, want := range map[string]bool{
		"create servicepolicies.broker.atoll.dev": true, "delete servicepolicies.broker.atoll.dev": true, "watch exportedservices.broker.atoll.dev": true,
		"update exportedservices.broker.atoll.dev": false, "delete endpointslices.discovery.k8s.io": false, "list leases.coordination.k8s.io": true,
		"update leases.coordination.k8s.io@hub.atoll.dev": true, "update leases.coordination.k8s.io@c1": false, "get secrets": false,
		"watch configmaps@atoll-members": true, "get configmaps@atoll-members": false, "update configmaps@atoll-members": false,
		"get memberclusters.broker.atoll.dev": false, "get exportedservices.broker.atoll.dev": true,
	} {
		if got := allows(objects, names.HubAccount, request); got != want {
			t.Errorf("the hub may %s: %t", request, got)
		}
	}
}

// Deleting an account's ServiceAccount ends all of its rights.
func TestRightsAreOwned(t *testing.T) {
	made := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "member-c1", UID: "1"}}
	for _, o := range Member("set", "c1").Rights(made) {
		if owners := o.GetOwnerReferences(); o.GetNamespace() != "set" || len(owners) != 1 || owners[0].UID != made.UID || owners[0].Kind != "ServiceAccount" {
			t.Errorf("%T %s has owners %v", o, o.GetName(), owners)
		}
		if o.GetLabels()[names.LabelSourceCluster] != "c1" {
			t.Errorf("%T %s has labels %v", o, o.GetName(), o.GetLabels())
		}
	}
	secret := NewCredential("set", "c1", "joiner", "member")
	var owners []types.UID
	for _, o := range secret.OwnerReferences {
		owners = append(owners, o.UID)
	}
	if !slices.Equal(owners, []types.UID{"joiner", "member"}) || secret.Name != "member-c1-joiner" || secret.Type != names.CredentialType {
		t.Errorf("the Secret is %+v", secret)
	}
}

// Policies and fairness objects have no namespace: their names and selectors keep clustersets apart.
func TestClustersetsAreApart(t *testing.T) {
	seen, bound := map[string]bool{}, map[string]int{}
	for _, namespace := range []string{"set", "set-b"} {
		for _, o := range Objects(namespace) {
			kind := o.GetObjectKind().GroupVersionKind().Kind
			if key := kind + " " + o.GetNamespace() + "/" + o.GetName(); kind == "" || seen[key] {
				t.Errorf("twice or without kind: %s", key)
			} else {
				seen[key] = true
			}
			switch o := o.(type) {
			case *admissionv1.ValidatingAdmissionPolicy:
				bound[o.Name]++
				if selector := o.Spec.MatchConstraints.NamespaceSelector; selector == nil || selector.MatchLabels[corev1.LabelMetadataName] != namespace || *o.Spec.FailurePolicy != admissionv1.Fail {
					t.Errorf("policy %s matches %+v", o.Name, o.Spec.MatchConstraints)
				}
			case *admissionv1.ValidatingAdmissionPolicyBinding:
				bound[o.Spec.PolicyName]--
				if !slices.Equal(o.Spec.ValidationActions, []admissionv1.ValidationAction{admissionv1.Deny}) || o.Spec.ParamRef != nil && o.Spec.ParamRef.Namespace != namespace {
					t.Errorf("binding %s is %+v", o.Name, o.Spec)
				}
			case *flowcontrolv1.FlowSchema:
				rule := o.Spec.Rules[0]
				if len(rule.Subjects) != 1 || rule.Subjects[0].Group.Name != "system:serviceaccounts:"+namespace || !seen["PriorityLevelConfiguration /"+o.Spec.PriorityLevelConfiguration.Name] {
					t.Errorf("flow schema %s is %+v", o.Name, o.Spec)
				}
			}
		}
	}
	for policy, n := range bound {
		if n != 0 {
			t.Errorf("policy %s and its bindings differ by %d", policy, n)
		}
	}
}
