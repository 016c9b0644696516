package rights

import (
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/names"
)

// MaxTokenLifetime is the longest life that a member may ask for a token of its own to have.
// A member that is switched off for longer than that has to be joined again.
const MaxTokenLifetime = 7 * 24 * time.Hour

// Account is a service account of one member on the broker, and what it may do there. All
// of it goes with the ServiceAccount, which is made first: see Rights.
type Account struct {
	ServiceAccount *corev1.ServiceAccount
	rights         []client.Object
}

// Member returns the account that a member's agents use.
func Member(namespace string, cluster names.ClusterID) Account {
	account, joiner := names.MemberAccount(cluster), names.JoinerAccount(cluster)
	// A colon is in no cluster id, so no other member's object is called that.
	self := account + ":self"
	return newAccount(namespace, cluster, account,
		binding(namespace, cluster, account, account, MemberRole),
		memberMeta(&rbacv1.Role{
			TypeMeta: roleType,
			Rules: []rbacv1.PolicyRule{
				// It renews its own token.
				{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{account}, Verbs: []string{"create"}},
				// It uses its join file up, and leaves.
				{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{joiner, account}, Verbs: []string{"delete"}},
			},
		}, namespace, cluster, self),
		binding(namespace, cluster, self, account, self),
	)
}

// Joiner returns the account of a join file: with it a cluster gets a token of the member's
// account, and can do nothing else.
func Joiner(namespace string, cluster names.ClusterID) Account {
	joiner := names.JoinerAccount(cluster)
	return newAccount(namespace, cluster, joiner,
		memberMeta(&rbacv1.Role{
			TypeMeta: roleType,
			Rules: []rbacv1.PolicyRule{{
				APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"},
				ResourceNames: []string{names.MemberAccount(cluster)}, Verbs: []string{"create"},
			}},
		}, namespace, cluster, joiner),
		binding(namespace, cluster, joiner, joiner, joiner),
	)
}

// Rights returns what gives the account its rights, to be collected with it: made is the
// ServiceAccount as the API server has it.
func (a Account) Rights(made *corev1.ServiceAccount) []client.Object {
	for _, o := range a.rights {
		o.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ServiceAccount", Name: made.Name, UID: made.UID}})
	}
	return a.rights
}

var roleType = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}

func newAccount(namespace string, cluster names.ClusterID, name string, rights ...client.Object) Account {
	return Account{
		ServiceAccount: memberMeta(&corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			// Members get short-lived tokens, and run no pods here.
			AutomountServiceAccountToken: ptr.To(false),
		}, namespace, cluster, name),
		rights: rights,
	}
}

func memberMeta[T client.Object](object T, namespace string, cluster names.ClusterID, name string) T {
	object.SetNamespace(namespace)
	object.SetName(name)
	object.SetLabels(map[string]string{names.LabelSourceCluster: cluster.String()})
	return object
}

// binding gives an account a role.
func binding(namespace string, cluster names.ClusterID, name, account, role string) client.Object {
	return memberMeta(&rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
	}, namespace, cluster, name)
}

func tokenPolicyName(namespace string) string { return "tokens-of-" + namespace + ".atoll.dev" }

// tokenPolicy bounds the life of the tokens that members and joiners ask for: a token that
// somebody has got hold of is worth nothing after that time, unless he renews it in time.
func tokenPolicy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	accounts := fmt.Sprintf("system:serviceaccount:%s:", namespace)
	seconds := int64(MaxTokenLifetime / time.Second)
	constraints := writesIn(namespace, "", "serviceaccounts/token")
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   policyType,
		ObjectMeta: policyMeta(namespace, tokenPolicyName(namespace)),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Fail),
			MatchConstraints: constraints,
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "is-member-or-joiner",
				Expression: fmt.Sprintf("request.userInfo.username.startsWith('%[1]s%[2]s') || request.userInfo.username.startsWith('%[1]s%[3]s')",
					accounts, names.MemberAccountPrefix, names.JoinerAccountPrefix),
			}},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf("object.spec.expirationSeconds <= %d", seconds),
				Message:    fmt.Sprintf("a member's token lives for at most %d seconds", seconds),
				Reason:     ptr.To(metav1.StatusReasonForbidden),
			}},
		},
	}
}
