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

// Objects returns a clusterset's objects on its broker, without the CRDs: the namespace, the members' role, the
// admission policies, the ConfigMap of permissions, and the fairness objects. The policies limit a member to its own
// objects and to aggregates that name it, and govern tokens and join files. The ConfigMap has no data, so that applying
// it keeps the administrators' content.
func Objects(namespace string) []client.Object {
	return append([]client.Object{
		&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{names.LabelClusterset: namespace}},
		},
		permissionsConfigMap(namespace),
		role(namespace),
		policy(namespace),
		policyBinding(namespace, MemberPolicyName(namespace)),
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

// role lets members read all of the clusterset's objects, without Secrets, and write these kinds. policy limits which
// objects they may write.
func role(namespace string) *rbacv1.Role {
	// No patch: for a small patch, the API server must decode and encode an object of up to a megabyte.
	all := []string{"get", "list", "watch", "create", "update", "delete"}
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: MemberRole},
		Rules: []rbacv1.PolicyRule{
			// Members detect a re-created namespace by its UID.
			{APIGroups: []string{""}, Resources: []string{"namespaces"}, ResourceNames: []string{namespace}, Verbs: []string{"get"}},
			{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"exportedservices"}, Verbs: all},
			// A member that leaves keeps its MemberCluster, in the state Removed.
			{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"memberclusters"}, Verbs: []string{"get", "list", "watch", "create", "update"}},
			{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"servicepolicies"}, Verbs: []string{"get", "list", "watch"}},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: all},
			// No watch: each heartbeat would cost the API server an event for each watch.
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: []string{"get", "list", "create", "update", "delete"}},
			{APIGroups: []string{mcsv1beta1.GroupName}, Resources: []string{"serviceimports"}, Verbs: all},
			{APIGroups: []string{mcsv1beta1.GroupName}, Resources: []string{"serviceimports/status"}, Verbs: []string{"update"}},
			memberPermissions,
		},
	}
}

// permissionsConfigMap is the ConfigMap for members' permissions. The broker's administrators write it.
func permissionsConfigMap(namespace string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: names.MemberPermissions},
	}
}

// memberPermissions permits reading the permissions ConfigMap, and no other. Only the broker's administrators may write
// it.
var memberPermissions = rbacv1.PolicyRule{
	APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{names.MemberPermissions}, Verbs: []string{"get", "list", "watch"},
}

// HubRole is the name of the hub's role and role binding in a clusterset's namespace.
const HubRole = "atoll-hub"

// HubAccess returns the hub's permissions in a clusterset's namespace: it reads members' objects, and writes policies.
func HubAccess(namespace string) []client.Object {
	// The hub reads single records and slices without its cache, to confirm that they are gone.
	read := []string{"get", "list", "watch"}
	permissions := memberPermissions
	permissions.Verbs = []string{"list", "watch"}
	meta := metav1.ObjectMeta{Namespace: namespace, Name: HubRole}
	return []client.Object{
		&rbacv1.Role{
			TypeMeta: roleType, ObjectMeta: meta,
			Rules: []rbacv1.PolicyRule{
				{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"exportedservices"}, Verbs: read},
				{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"memberclusters"}, Verbs: []string{"list", "watch"}},
				{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: read},
				permissions,
				{
					APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"servicepolicies"},
					Verbs: append(read, "create", "update", "delete"),
				},
				// The hub confirms its policies in its own Lease, and reads the members' Leases.
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
