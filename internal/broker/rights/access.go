// Package rights builds the RBAC objects and admission policies of a broker, for members, joining clusters and
// the hub.
package rights

import (
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MemberRole is the name of the role of all members in a clusterset's namespace.
const MemberRole = "atoll-member"

// Objects returns what a clusterset needs on its broker, beside the CRDs: its
// namespace, the members' role, and the admission policies that let a member write
// only what is its own, and aggregates that name it, and govern tokens and the use of join files; what members are permitted; and
// what shares the API server among members. The ConfigMap of what is permitted has no data here, so that applying it leaves alone
// what the administrators have written.
func Objects(namespace string) []client.Object {
	return append([]client.Object{
		&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{names.LabelClusterset: namespace}},
		},
		permissionsConfigMap(namespace),
		role(namespace),
		policy(namespace),
		policyBinding(namespace, policyName(namespace)),
		aggregatePolicy(namespace),
		policyBinding(namespace, aggregatePolicyName(namespace)),
		namespacePolicy(namespace),
		namespacePolicyBinding(namespace),
		tokenPolicy(namespace),
		policyBinding(namespace, tokenPolicyName(namespace)),
		joinerPolicy(namespace),
		policyBinding(namespace, JoinerPolicyName(namespace)),
	}, fairness(namespace)...)
}

// role lets members read everything of the clusterset's and write those kinds; which
// of the objects they may write, the policy says. There are no Secrets in it.
func role(namespace string) *rbacv1.Role {
	// No patch: one of some bytes has the API server take apart and put together again an object of a megabyte.
	all := []string{"get", "list", "watch", "create", "update", "delete"}
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: MemberRole},
		Rules: []rbacv1.PolicyRule{
			// By its UID they tell whether it was made anew.
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{namespace}, Verbs: []string{"get"}},
			{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"exportedservices", "memberclusters"}, Verbs: all},
			{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"servicepolicies"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: all},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: all},
			{APIGroups: []string{mcsv1beta1.GroupName}, Resources: []string{"serviceimports"}, Verbs: all},
			{APIGroups: []string{mcsv1beta1.GroupName}, Resources: []string{"serviceimports/status"}, Verbs: []string{"update"}},
			memberPermissions,
		},
	}
}

// permissionsConfigMap is the ConfigMap in which the broker's administrators write what members are permitted.
func permissionsConfigMap(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.MemberPermissions},
	}
}

// memberPermissions lets somebody read what members are permitted, and no other ConfigMap. Nobody but administrators of the
// broker may write it.
var memberPermissions = rbacv1.PolicyRule{
	APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{names.MemberPermissions}, Verbs: []string{"get", "list", "watch"},
}

// HubRole is the name of the hub's role, and of its binding, in a clusterset's namespace.
const HubRole = "atoll-hub"

// HubAccess returns what lets the hub work in a clusterset's namespace: it reads what members
// publish, and writes its policies.
func HubAccess(namespace string) []client.Object {
	read := []string{"get", "list", "watch"}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: HubRole}
	return []client.Object{
		&rbacv1.Role{
			TypeMeta: roleType, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"exportedservices", "memberclusters"}, Verbs: read},
				{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
				memberPermissions,
				{
					APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"servicepolicies"},
					Verbs: append(read, "create", "update", "delete"),
				},
				// In one it vouches for its policies; by the others members vouch for what they publish.
				{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "create"}},
				{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, ResourceNames: []string{names.HubOwner.String()}, Verbs: []string{"update"}},
			},
		},
		&rbacv1.RoleBinding{
			TypeMeta: metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"}, ObjectMeta: meta,
			RoleRef:  rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: HubRole},
			Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: names.HubNamespace, Name: names.HubAccount}},
		},
	}
}
