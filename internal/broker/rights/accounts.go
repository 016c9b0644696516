package rights

import (
	"fmt"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
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

// Joiner returns the account of a join file. A cluster uses the file up by creating the Secret that NewCredential returns, which
// joinerPolicy allows once, and gets tokens of the member's account that are bound to it.
func Joiner(namespace string, cluster names.ClusterID) Account {
	joiner, member := names.JoinerAccount(cluster), names.MemberAccount(cluster)
	return newAccount(namespace, cluster, joiner,
		memberMeta(&rbacv1.Role{
			TypeMeta: roleType,
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"create"}},
				{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{member}, Verbs: []string{"get"}},
				{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{member}, Verbs: []string{"create"}},
			},
		}, namespace, cluster, joiner),
		binding(namespace, cluster, joiner, joiner, joiner),
	)
}

// NewCredential returns the Secret that the tokens of a member are bound to. Its name is fixed by the join file, so that
// a file can be used once. It has two owners, and Kubernetes deletes it when both are gone: the joiner account is deleted when
// the cluster has joined, and the member's when it leaves. Until the cluster has joined it can't get rid of the Secret without
// the joiner account, so nobody can use a join file and leave it as if it were unused.
func NewCredential(namespace string, cluster names.ClusterID, joinerUID, memberUID types.UID) *corev1.Secret {
	secret := memberMeta(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Type: names.CredentialType,
	}, namespace, cluster, names.MemberCredential(cluster, string(joinerUID)))
	secret.OwnerReferences = []metav1.OwnerReference{
		OwnedBy(names.JoinerAccount(cluster), joinerUID), OwnedBy(names.MemberAccount(cluster), memberUID),
	}
	return secret
}

// OwnedBy returns a reference to a ServiceAccount as an owner.
func OwnedBy(account string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ServiceAccount", Name: account, UID: uid}
}

// Rights returns what gives the account its rights, to be collected with it: made is the
// ServiceAccount as the API server has it.
func (a Account) Rights(made *corev1.ServiceAccount) []client.Object {
	for _, o := range a.rights {
		o.SetOwnerReferences([]metav1.OwnerReference{OwnedBy(made.Name, made.UID)})
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

// tokenPolicy has members and joiners ask only for tokens that are bound to a Secret of their own cluster whose UID they know, and
// bounds the life of the tokens. A token that was stolen is worth nothing when its Secret is gone, and
// nobody gets a token with a join file that somebody else has used.
func tokenPolicy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	accounts := fmt.Sprintf("system:serviceaccount:%s:", namespace)
	seconds := int64(MaxTokenLifetime / time.Second)
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   policyType,
		ObjectMeta: policyMeta(namespace, tokenPolicyName(namespace)),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Fail),
			MatchConstraints: writesIn(namespace, "", "serviceaccounts/token"),
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "is-member-or-joiner",
				Expression: fmt.Sprintf("request.userInfo.username.startsWith('%[1]s%[2]s') || request.userInfo.username.startsWith('%[1]s%[3]s')",
					accounts, names.MemberAccountPrefix, names.JoinerAccountPrefix),
			}},
			Variables: []admissionv1.Variable{
				{Name: "account", Expression: fmt.Sprintf("request.userInfo.username.substring(size('%s'))", accounts)},
				{Name: "joiner", Expression: fmt.Sprintf("variables.account.startsWith('%s')", names.JoinerAccountPrefix)},
				{Name: "self", Expression: fmt.Sprintf("variables.account.substring(variables.joiner ? size('%s') : size('%s'))",
					names.JoinerAccountPrefix, names.MemberAccountPrefix)},
				{Name: "prefix", Expression: fmt.Sprintf("'%s' + variables.self + '-'", names.MemberAccountPrefix)},
				{Name: "bound", Expression: "object.spec.?boundObjectRef.?name.orValue('')"},
			},
			Validations: []admissionv1.Validation{
				refuse(fmt.Sprintf("object.spec.expirationSeconds <= %d", seconds), fmt.Sprintf("a member's token lives for at most %d seconds", seconds)),
				refuse("object.spec.?boundObjectRef.?kind.orValue('') == 'Secret' && object.spec.?boundObjectRef.?uid.orValue('') != ''",
					"a member's token is bound to a Secret whose UID the request names"),
				// A UID has a fixed length, so a name is of one cluster only: the ids c1 and c1-x can't be confused.
				refuse(fmt.Sprintf("variables.joiner ? variables.bound == variables.prefix + request.userInfo.uid"+
					" : variables.bound.startsWith(variables.prefix) && size(variables.bound) == size(variables.prefix) + %d", names.UIDLength),
					"a member's token is bound to the Secret that was created when its own join file was used"),
			},
		},
	}
}

// JoinerPolicyName names the admission policy without which a joiner could create any Secret, for RBAC can't restrict that by name.
func JoinerPolicyName(namespace string) string { return "joiners-of-" + namespace + ".atoll.dev" }

// joinerPolicy lets a joiner create the Secret that NewCredential returns, and no other.
func joinerPolicy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	joiners := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, names.JoinerAccountPrefix)
	owner := func(i int, prefix string) string {
		return fmt.Sprintf("object.metadata.ownerReferences[%[1]d].apiVersion == 'v1' && object.metadata.ownerReferences[%[1]d].kind == 'ServiceAccount'"+
			" && object.metadata.ownerReferences[%[1]d].name == '%[2]s' + variables.self"+
			" && !has(object.metadata.ownerReferences[%[1]d].controller) && !has(object.metadata.ownerReferences[%[1]d].blockOwnerDeletion)", i, prefix)
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   policyType,
		ObjectMeta: policyMeta(namespace, JoinerPolicyName(namespace)),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Fail),
			MatchConstraints: writesIn(namespace, "", "secrets"),
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "is-joiner", Expression: fmt.Sprintf("request.userInfo.username.startsWith('%s')", joiners),
			}},
			Variables: []admissionv1.Variable{
				{Name: "self", Expression: fmt.Sprintf("request.userInfo.username.substring(size('%s'))", joiners)},
			},
			Validations: []admissionv1.Validation{
				refuse(fmt.Sprintf("request.operation == 'CREATE' && object.metadata.name == '%s' + variables.self + '-' + request.userInfo.uid", names.MemberAccountPrefix),
					"with a join file one Secret can be created, whose name says which file was used"),
				refuse(fmt.Sprintf("object.type == '%s' && !has(object.data) && !has(object.stringData)", names.CredentialType),
					fmt.Sprintf("the Secret is of type %s and holds no data", names.CredentialType)),
				refuse(fmt.Sprintf("has(object.metadata.labels) && object.metadata.labels == {'%s': variables.self}"+
					" && !has(object.metadata.annotations) && !has(object.metadata.finalizers)", names.LabelSourceCluster),
					fmt.Sprintf("the Secret has the label %s, no other label, no annotation and no finalizer", names.LabelSourceCluster)),
				refuse("object.metadata.?ownerReferences.orValue([]).size() == 2 && object.metadata.ownerReferences[0].uid == request.userInfo.uid && "+
					owner(0, names.JoinerAccountPrefix)+" && "+owner(1, names.MemberAccountPrefix),
					"the owners of the Secret are the service accounts of the join file and of the member"),
			},
		},
	}
}
