package rights

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

var policyType = metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicy"}

// MemberPolicyName names the policy that limits members to their own objects.
func MemberPolicyName(namespace string) string { return "members-of-" + namespace + ".atoll.dev" }

func policyMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Name: name, Labels: map[string]string{names.LabelClusterset: namespace}}
}

// writesIn matches all writes to the given kinds in the clusterset's namespace. It sets the API server's defaults too, so that
// setup.LimitProblems can compare.
func writesIn(namespace, group string, resources ...string) *admissionv1.MatchResources {
	return &admissionv1.MatchResources{
		MatchPolicy:       ptr.To(admissionv1.Equivalent),
		ObjectSelector:    &metav1.LabelSelector{},
		NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
		ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update, admissionv1.Delete},
			Rule: admissionv1.Rule{
				APIGroups: []string{group}, APIVersions: []string{"*"}, Resources: resources,
				Scope: ptr.To(admissionv1.NamespacedScope),
			},
		}}},
	}
}

// refuse returns a validation that forbids requests unless the expression is true.
func refuse(unless, message string) admissionv1.Validation {
	return admissionv1.Validation{Expression: unless, Message: message, Reason: ptr.To(metav1.StatusReasonForbidden)}
}

// memberUsers is the prefix of all members' user names.
func memberUsers(namespace string) string {
	return fmt.Sprintf("system:serviceaccount:%s:%s", namespace, names.MemberAccountPrefix)
}

// byMember matches members' requests.
func byMember(namespace string) admissionv1.MatchCondition {
	return admissionv1.MatchCondition{
		Name: "is-member", Expression: fmt.Sprintf("request.userInfo.username.startsWith('%s')", memberUsers(namespace)),
	}
}

// exempt is true for requests that a policy does not apply to. Policies for EndpointSlices use it instead of match
// conditions: those make the API server convert the object twice, a third of the request's cost with 1,000 endpoints.
func exempt(expression string) admissionv1.Variable {
	return admissionv1.Variable{Name: "exempt", Expression: expression}
}

func unlessExempt(all []admissionv1.Validation) []admissionv1.Validation {
	for i := range all {
		all[i].Expression = "variables.exempt || (" + all[i].Expression + ")"
	}
	return all
}

// self is the id of the requesting member. The namespace appears in these policies only as text, so that a Helm chart
// can be generated.
func self(namespace string) admissionv1.Variable {
	return admissionv1.Variable{
		Name: "self", Expression: fmt.Sprintf("request.userInfo.username.substring(size('%s'))", memberUsers(namespace)),
	}
}

// policy, MemberPolicyName, refuses a member's write to an object that is not its own. The label before and after, the cluster id in the
// object, and the name must all match the member's service account.
func policy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	label := func(object string) string {
		return fmt.Sprintf("%s.metadata.?labels['%s'].orValue('')", object, names.LabelSourceCluster)
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   policyType,
		ObjectMeta: policyMeta(namespace, MemberPolicyName(namespace)),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Fail),
			MatchConstraints: writesIn(namespace, "*", "*"),
			Variables: append([]admissionv1.Variable{
				// aggregatePolicy governs aggregates.
				exempt(fmt.Sprintf("!%s || request.resource.group == '%s' && request.resource.resource == '%s'",
					byMember(namespace).Expression, mcsv1beta1.GroupName, mcsv1beta1.ServiceImportPluralName)),
				self(namespace),
				metadataBytes,
				// The API server evaluates it lazily: only slices have a namespace.
				{Name: "place", Expression: fmt.Sprintf("'.' + object.metadata.?labels['%s'].orValue('') + '.' + variables.self", names.LabelServiceNamespace)},
			}, lists...),
			Validations: unlessExempt(append(append(shape(), limits()...), []admissionv1.Validation{
				{
					Expression: "!(request.resource.resource == 'servicepolicies')",
					Message:    "only the hub may write ServicePolicies",
				},
				{
					Expression: "request.operation == 'DELETE' || " + label("object") + " == variables.self",
					MessageExpression: fmt.Sprintf("'a member may write only its own objects: label %s must be ' + variables.self",
						names.LabelSourceCluster),
				},
				{
					Expression:        "request.operation == 'CREATE' || " + label("oldObject") + " == variables.self",
					MessageExpression: "'this object does not belong to member ' + variables.self",
				},
				{
					Expression: "request.operation == 'DELETE' || !(request.resource.resource in ['exportedservices', 'memberclusters'])" +
						" || object.spec.clusterID == variables.self",
					MessageExpression: "'spec.clusterID must be ' + variables.self",
				},
				{
					// After a removal, another cluster may join with the id.
					Expression: "request.operation != 'UPDATE' || request.resource.resource != 'memberclusters'" +
						" || object.spec.clusterUID == oldObject.spec.clusterUID || oldObject.spec.?state.orValue('') == '" + string(brokerv1alpha1.MemberRemoved) + "'",
					Message: "a member may not change spec.clusterUID",
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
			}...)),
		},
	}
}

// shape refuses objects that no agent writes: with another member's name, with a longer life than the owner wants, or
// with a meaning for the broker's own cluster.
func shape() []admissionv1.Validation {
	of := func(resource, rule string) string {
		return fmt.Sprintf("request.operation == 'DELETE' || request.resource.resource != '%s' || %s", resource, rule)
	}
	return []admissionv1.Validation{
		{
			Expression: "request.operation == 'DELETE' || !has(object.metadata.finalizers) && !has(object.metadata.ownerReferences)",
			Message:    "a member's objects must not have finalizers or owner references",
		},
		{
			// With dots, the name could be that of a member whose id has two labels.
			Expression: of("exportedservices", "!object.spec.serviceName.contains('.') && !object.spec.serviceNamespace.contains('.')"),
			Message:    "the name of the Service and the name of its namespace must not contain a dot",
		},
		{
			Expression: of("exportedservices", "timestamp(object.spec.exportedAt) > timestamp('"+firstExport+"')"),
			Message:    "spec.exportedAt is older than any ServiceExport can be",
		},
		{
			Expression: of("endpointslices", fmt.Sprintf("object.metadata.?labels['%s'].orValue('') == '%s' && !('%s' in object.metadata.labels)",
				discoveryv1.LabelManagedBy, names.AgentManager, discoveryv1.LabelServiceName)),
			Message: "a member's EndpointSlices must be managed by " + names.AgentManager + ", and must not belong to a Service in the broker's cluster",
		},
		{
			// Names without dots are digests.
			Expression: of("endpointslices", fmt.Sprintf("!object.metadata.?labels['%s'].orValue('').contains('.')", names.LabelServiceNamespace)+
				" && (!object.metadata.name.contains('.') || object.metadata.name.endsWith(variables.place)"+
				" && !object.metadata.name.substring(0, size(object.metadata.name) - size(variables.place)).contains('.'))"),
			MessageExpression: "'the name must be <slice>' + variables.place + ', or a digest'",
		},
	}
}

// firstExport precedes every ServiceExport: the Multi-Cluster Services API is younger.
const firstExport = "2020-01-01T00:00:00Z"

func policyBinding(namespace, policy string) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: policyMeta(namespace, policy),
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName:        policy,
			ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
}
