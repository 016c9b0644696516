package broker

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
)

// memberRole is the name of the role of all members in a clusterset's namespace.
const memberRole = "atoll-member"

// Objects returns what a clusterset needs on its broker, beside the CRDs: its
// namespace, the members' role, and the admission policy that lets a member write
// only what is its own.
func Objects(namespace string) []client.Object {
	return []client.Object{
		&corev1.Namespace{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"},
			ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{names.LabelClusterset: namespace}},
		},
		role(namespace),
		policy(namespace),
		policyBinding(namespace),
	}
}

// MemberObjects returns what one member needs on the broker: its service account and
// the role for it.
func MemberObjects(namespace string, cluster names.ClusterID) []client.Object {
	account := names.MemberAccount(cluster)
	meta := metav1.ObjectMeta{
		Namespace: namespace, Name: account,
		Labels: map[string]string{names.LabelSourceCluster: cluster.String()},
	}
	return []client.Object{
		&corev1.ServiceAccount{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ServiceAccount"},
			ObjectMeta: meta,
			// Members get short-lived tokens, and run no pods here.
			AutomountServiceAccountToken: ptr.To(false),
		},
		&rbacv1.RoleBinding{
			TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "RoleBinding"},
			ObjectMeta: meta,
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: memberRole},
			Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: account}},
		},
	}
}

// role lets members read everything of the clusterset's and write those kinds; which
// of the objects they may write, the policy says. There are no Secrets in it.
func role(namespace string) *rbacv1.Role {
	all := []string{"get", "list", "watch", "create", "update", "patch", "delete"}
	return &rbacv1.Role{
		TypeMeta:   metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: "Role"},
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: memberRole},
		Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{brokerv1alpha1.GroupVersion.Group}, Resources: []string{"exportedservices", "memberclusters"}, Verbs: all},
			{APIGroups: []string{"discovery.k8s.io"}, Resources: []string{"endpointslices"}, Verbs: all},
			{APIGroups: []string{"coordination.k8s.io"}, Resources: []string{"leases"}, Verbs: all},
		},
	}
}

func policyName(namespace string) string { return "members-of-" + namespace + ".atoll.dev" }

// policy refuses every write of a member's to an object that is not its own: by the
// label on it before and after, by the cluster id within it and by its name, all of
// which must be the one that the member's service account is named after.
func policy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	prefix := fmt.Sprintf("system:serviceaccount:%s:%s", namespace, names.MemberAccountPrefix)
	label := func(object string) string {
		return fmt.Sprintf("%s.metadata.?labels['%s'].orValue('')", object, names.LabelSourceCluster)
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"},
		ObjectMeta: metav1.ObjectMeta{Name: policyName(namespace), Labels: map[string]string{names.LabelClusterset: namespace}},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
					Rule: admissionv1.Rule{
						APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"},
						Scope: ptr.To(admissionv1.NamespacedScope),
					},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{{
				Name: "is-member", Expression: fmt.Sprintf("request.userInfo.username.startsWith('%s')", prefix),
			}},
			Variables: []admissionv1.Variable{{
				Name: "self", Expression: fmt.Sprintf("request.userInfo.username.substring(%d)", len(prefix)),
			}},
			Validations: []admissionv1.Validation{
				{
					Expression: "request.operation == 'DELETE' || " + label("object") + " == variables.self",
					MessageExpression: fmt.Sprintf("'a member writes only objects that carry its own id: label %s must be ' + variables.self",
						names.LabelSourceCluster),
				},
				{
					Expression:        "request.operation == 'CREATE' || " + label("oldObject") + " == variables.self",
					MessageExpression: "'this object belongs to another member than ' + variables.self",
				},
				{
					Expression: "request.operation == 'DELETE' || !(request.resource.resource in ['exportedservices', 'memberclusters'])" +
						" || object.spec.clusterID == variables.self",
					MessageExpression: "'spec.clusterID must be ' + variables.self",
				},
				{
					Expression: "request.operation != 'CREATE' || !(request.resource.resource in ['memberclusters', 'leases'])" +
						" || object.metadata.name == variables.self",
					MessageExpression: "'the name must be ' + variables.self",
				},
				{
					Expression: "request.operation == 'DELETE' || request.resource.resource != 'exportedservices'" +
						" || object.metadata.name == object.spec.serviceName + '.' + object.spec.serviceNamespace + '.' + variables.self",
					Message: "the name must be <service>.<namespace>.<cluster id>",
				},
			},
		},
	}
}

func policyBinding(namespace string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: policyName(namespace), Labels: map[string]string{names.LabelClusterset: namespace}},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policyName(namespace),
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}
