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

// MaxTokenLifetime is the longest token lifetime that a member may request, unless AnnotationTokenLifetime is shorter. A
// member that is off for longer must join again.
const MaxTokenLifetime = 7 * 24 * time.Hour

// Account is a member's service account on the broker, with its rights. The ServiceAccount is created first, and all
// rights are deleted with it: see Rights.
type Account struct {
	ServiceAccount *corev1.ServiceAccount
	// rights returns the account's rights, given the UID of its ServiceAccount.
	rights func(types.UID) []client.Object
}

// Member returns the account of a member's agents.
func Member(namespace string, cluster names.ClusterID) Account {
	account, joiner := names.MemberAccount(cluster), names.JoinerAccount(cluster)
	// No cluster id contains a colon, so no other member's object has this name.
	self := account + ":self"
	return newAccount(namespace, cluster, account, func(types.UID) []client.Object {
		return []client.Object{binding(namespace, cluster, account, account, MemberRole),
			memberMeta(&rbacv1.Role{
				TypeMeta: roleType,
				Rules: []rbacv1.PolicyRule{
					// The account renews its own token.
					{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{account}, Verbs: []string{"create"}},
					// The account uses up its join file, and leaves.
					{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{joiner, account}, Verbs: []string{"delete"}},
				},
			}, namespace, cluster, self),
			binding(namespace, cluster, self, account, self),
		}
	})
}

// Joiner returns a join file's account. A cluster uses the file up by creating the Secret from NewCredential, which
// joinerPolicy allows once. It then gets tokens of the member's account that are bound to the Secret.
func Joiner(namespace string, cluster names.ClusterID) Account {
	joiner, member := names.JoinerAccount(cluster), names.MemberAccount(cluster)
	return newAccount(namespace, cluster, joiner, func(uid types.UID) []client.Object {
		return []client.Object{memberMeta(&rbacv1.Role{
			TypeMeta: roleType,
			Rules: []rbacv1.PolicyRule{
				// Only server-side apply creates an object with a permission for its name.
				{APIGroups: []string{""}, Resources: []string{"secrets"}, ResourceNames: []string{names.MemberCredential(cluster, string(uid))}, Verbs: []string{"create", "patch"}},
				{APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, ResourceNames: []string{member}, Verbs: []string{"get"}},
				// The namespace has the limit of tokens' lifetimes.
				{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{namespace}, Verbs: []string{"get"}},
				{APIGroups: []string{""}, Resources: []string{"serviceaccounts/token"}, ResourceNames: []string{member}, Verbs: []string{"create"}},
			},
		}, namespace, cluster, joiner),
			binding(namespace, cluster, joiner, joiner, joiner),
		}
	})
}

// NewCredential returns the Secret that a member's tokens are bound to. Its name depends on the join file only, so a
// file can be used once. The joiner account and the member's account own it. Kubernetes deletes it when both are gone:
// after the join and after leaving. Before the join ends, the member cannot delete it without the joiner account, so
// nobody can use a file and make it look unused.
func NewCredential(namespace string, cluster names.ClusterID, joinerUID, memberUID types.UID) *corev1.Secret {
	secret := memberMeta(&corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"}, Type: names.CredentialType,
	}, namespace, cluster, names.MemberCredential(cluster, string(joinerUID)))
	secret.OwnerReferences = []metav1.OwnerReference{
		OwnedBy(names.JoinerAccount(cluster), joinerUID), OwnedBy(names.MemberAccount(cluster), memberUID),
	}
	return secret
}

// OwnedBy returns an owner reference to a ServiceAccount.
func OwnedBy(account string, uid types.UID) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ServiceAccount", Name: account, UID: uid}
}

// Rights returns the account's rights. Its ServiceAccount owns them, so that they are garbage-collected with it; made
// is the ServiceAccount on the API server.
func (a Account) Rights(made *corev1.ServiceAccount) []client.Object {
	all := a.rights(made.UID)
	for _, o := range all {
		o.SetOwnerReferences([]metav1.OwnerReference{OwnedBy(made.Name, made.UID)})
	}
	return all
}

var roleType = metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"}

func newAccount(namespace string, cluster names.ClusterID, name string, rights func(types.UID) []client.Object) Account {
	return Account{
		ServiceAccount: memberMeta(&corev1.ServiceAccount{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			// Members use short-lived tokens, and run no pods here.
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

func binding(namespace string, cluster names.ClusterID, name, account, role string) client.Object {
	return memberMeta(&rbacv1.RoleBinding{
		TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
		RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
	}, namespace, cluster, name)
}

func tokenPolicyName(namespace string) string { return "tokens-of-" + namespace + ".atoll.dev" }

// tokenPolicy lets members and joiners request only tokens that are bound to a Secret of their own cluster, whose UID
// they know, and limits the lifetime. A stolen token becomes invalid with its Secret, and a used join file gives no
// token to anyone else.
func tokenPolicy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	accounts := fmt.Sprintf("system:serviceaccount:%s:", namespace)
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
				// An invalid value denies all tokens.
				{Name: "limit", Expression: fmt.Sprintf("duration(namespaceObject.metadata.?annotations['%s'].orValue('%dh')).getSeconds()", names.AnnotationTokenLifetime, MaxTokenLifetime/time.Hour)},
			},
			Validations: []admissionv1.Validation{
				{
					Expression:        fmt.Sprintf("object.spec.expirationSeconds <= %d && object.spec.expirationSeconds <= variables.limit", MaxTokenLifetime/time.Second),
					MessageExpression: "'the lifetime of a member\\'s token must not exceed ' + string(variables.limit) + ' seconds'",
					Reason:            ptr.To(metav1.StatusReasonForbidden),
				},
				refuse("object.spec.?boundObjectRef.?kind.orValue('') == 'Secret' && object.spec.?boundObjectRef.?uid.orValue('') != ''",
					"a member's token must be bound to a Secret, and the request must contain the Secret's UID"),
				// A UID has a fixed length, so a name belongs to one cluster only: ids c1 and c1-x are distinct.
				refuse(fmt.Sprintf("variables.joiner ? variables.bound == variables.prefix + request.userInfo.uid"+
					" : variables.bound.startsWith(variables.prefix) && size(variables.bound) == size(variables.prefix) + %d", names.UIDLength),
					"a member's token must be bound to the Secret that was created when the member's join file was used"),
			},
		},
	}
}

// JoinerPolicyName names the policy that lets joiners create their Secret only once, and only as NewCredential makes it.
func JoinerPolicyName(namespace string) string { return "joiners-of-" + namespace + ".atoll.dev" }

// joinerPolicy lets a joiner only create its Secret. RBAC restricts the Secret's name. Without the policy, a second
// server-side apply would return the Secret's UID.
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
				// Unlike the other denials, it is Invalid: joining.Use tells a used file from a lack of permissions.
				{Expression: "request.operation == 'CREATE'", Message: "the join file was already used", Reason: ptr.To(metav1.StatusReasonInvalid)},
				refuse(fmt.Sprintf("object.type == '%s' && !has(object.data) && !has(object.stringData)", names.CredentialType),
					fmt.Sprintf("the Secret must have the type %s and no data", names.CredentialType)),
				refuse(fmt.Sprintf("has(object.metadata.labels) && object.metadata.labels == {'%s': variables.self}"+
					" && !has(object.metadata.annotations) && !has(object.metadata.finalizers)", names.LabelSourceCluster),
					fmt.Sprintf("the Secret must have the label %s, and no other label, annotation or finalizer", names.LabelSourceCluster)),
				refuse("object.metadata.?ownerReferences.orValue([]).size() == 2 && object.metadata.ownerReferences[0].uid == request.userInfo.uid && "+
					owner(0, names.JoinerAccountPrefix)+" && "+owner(1, names.MemberAccountPrefix),
					"the owners of the Secret must be the ServiceAccounts of the join file and of the member"),
			},
		},
	}
}
