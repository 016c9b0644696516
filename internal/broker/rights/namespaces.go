package rights

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// filled returns a CEL expression for a command, with the member for CLUSTER and the namespace for NAMESPACE.
func filled(command string) string {
	return "'" + strings.NewReplacer("CLUSTER", "' + variables.self + '", "NAMESPACE", "' + variables.place + '").Replace(command) + "'"
}

func namespacePolicyName(namespace string) string { return "namespaces-of-" + namespace + ".atoll.dev" }

// namespacePolicy refuses records, slices and catalogue entries of namespaces that a member may not export. It is a
// separate policy because a policy with parameters is skipped if they are missing. Members may always remove their
// objects: delete them, withdraw a record, or empty a slice. The policy also refuses everything that a frozen member creates.
func namespacePolicy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	constraints := writesIn(namespace, brokerv1alpha1.GroupVersion.Group, "exportedservices")
	constraints.ResourceRules = slices.Concat(constraints.ResourceRules, writesIn(namespace, "discovery.k8s.io", "endpointslices").ResourceRules,
		writesIn(namespace, mcsv1beta1.GroupName, mcsv1beta1.ServiceImportPluralName).ResourceRules)
	for i := range constraints.ResourceRules {
		constraints.ResourceRules[i].Operations = []admissionv1.OperationType{admissionv1.Create, admissionv1.Update}
	}
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   policyType,
		ObjectMeta: policyMeta(namespace, namespacePolicyName(namespace)),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy:    ptr.To(admissionv1.Fail),
			ParamKind:        &admissionv1.ParamKind{APIVersion: "v1", Kind: "ConfigMap"},
			MatchConstraints: constraints,
			Variables: []admissionv1.Variable{
				exempt("!" + byMember(namespace).Expression),
				self(namespace),
				{Name: "key", Expression: fmt.Sprintf("'%s' + variables.self", permissions.NamespacesPrefix)},
				// Binary data permits nothing, as in internal/broker/permissions. Without either key, all is permitted.
				{Name: "usual", Expression: fmt.Sprintf("'%[1]s' in params.?binaryData.orValue({}) ? '' : params.?data['%[1]s'].orValue('*')", permissions.NamespacesKey(permissions.Default))},
				{Name: "text", Expression: "variables.key in params.?binaryData.orValue({}) ? '' : params.?data[variables.key].orValue(variables.usual)"},
				{Name: "patterns", Expression: words("variables.text")},
				{Name: "own", Expression: words("variables.key in params.?binaryData.orValue({}) ? '' : params.?data[variables.key].orValue('')")},
				{Name: "reserved", Expression: words(fmt.Sprintf("params.?data['%s'].orValue('')", permissions.Reserved))},
				// As in internal/broker/permissions, what is neither true nor false freezes.
				{Name: "freezes", Expression: fmt.Sprintf("'%s' + variables.self", permissions.FrozenPrefix)},
				{Name: "frozen", Expression: "variables.freezes in params.?binaryData.orValue({})" +
					" || !(params.?data[variables.freezes].orValue('false').trim() in ['0', 'f', 'F', 'false', 'FALSE', 'False'])"},
				{Name: "place", Expression: fmt.Sprintf("request.resource.resource == 'exportedservices' ? object.spec.serviceNamespace"+
					" : object.metadata.?labels['%s'].orValue('')", names.LabelServiceNamespace)},
				{Name: "endpoints", Expression: listOf("endpoints")},
				{Name: "withdrawn", Expression: fmt.Sprintf("request.resource.resource == 'exportedservices'"+
					" ? object.metadata.?annotations['%s'].orValue('') == '%s'"+
					" : request.resource.resource == 'endpointslices' && size(variables.endpoints) == 0", names.AnnotationState, names.StateWithdrawn)},
			},
			Validations: unlessExempt([]admissionv1.Validation{
				{
					Expression: "request.operation != 'CREATE' || !variables.frozen",
					MessageExpression: "'cluster ' + variables.self + ' is frozen: it may change and delete its objects on the broker, but not create new ones. To permit new objects: ' + " +
						filled(command.Broker.Atoll("broker members set CLUSTER --frozen=false --clusterset %s", namespace)),
					Reason: ptr.To(metav1.StatusReasonForbidden),
				},
				{
					Expression: "variables.withdrawn || variables.patterns.exists(p, " + contains + ")",
					MessageExpression: "'cluster ' + variables.self + ' is not permitted to export namespace ' + variables.place + '. To permit the export: ' + " +
						filled(command.Broker.Atoll("broker members set CLUSTER --namespaces NAMESPACE,... --clusterset %s", namespace)),
					Reason: ptr.To(metav1.StatusReasonForbidden),
				},
				{
					Expression: "variables.withdrawn || !variables.reserved.exists(p, " + contains + ") || variables.own.exists(p, p != '*' && (" + contains + "))",
					MessageExpression: "'namespace ' + variables.place + ' is reserved, and cluster ' + variables.self + ' does not own it. To make the cluster an owner: ' + " +
						filled(command.Broker.Atoll("broker members set CLUSTER --owns NAMESPACE --clusterset %s", namespace)),
					Reason: ptr.To(metav1.StatusReasonForbidden),
				},
			}),
		},
	}
}

// contains reports whether a pattern p contains the place.
const contains = "p != '' && p == variables.place || p.endsWith('*') && variables.place.startsWith(p.substring(0, size(p) - 1))"

// words splits a text as permissions.ParseNamespaces does.
func words(text string) string {
	return "(" + text + `).replace(',', ' ').replace('\t', ' ').replace('\r', ' ').replace('\n', ' ').split(' ')`
}

// namespacePolicyBinding uses the ConfigMap as the policy's parameters. Without a ConfigMap nothing is refused here,
// and importing clusters apply its last content.
func namespacePolicyBinding(namespace string) *admissionv1.ValidatingAdmissionPolicyBinding {
	binding := policyBinding(namespace, namespacePolicyName(namespace))
	binding.Spec.ParamRef = &admissionv1.ParamRef{
		Name: names.MemberPermissions, Namespace: namespace, ParameterNotFoundAction: ptr.To(admissionv1.AllowAction),
	}
	return binding
}
