package rights

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func aggregatePolicyName(namespace string) string { return "aggregates-of-" + namespace + ".atoll.dev" }

// aggregatePolicy limits writes to aggregates, which several members write: the shape is fixed, and only the members in
// an aggregate write it. A policy sees only one object, so a member may list itself without an export. Each member may
// delete an aggregate, because its clusters may be lost; the exporters write it again. Derive nothing from aggregates
// (docs/adr/0008). namespacePolicy limits aggregates, too.
func aggregatePolicy(namespace string) *admissionv1.ValidatingAdmissionPolicy {
	label := func(object, key string) string {
		return fmt.Sprintf("%s.metadata.?labels['%s'].orValue('')", object, key)
	}
	written := func(rule string) string { return "request.operation == 'DELETE' || " + rule }
	return &admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   policyType,
		ObjectMeta: policyMeta(namespace, aggregatePolicyName(namespace)),
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: writesIn(namespace, mcsv1beta1.GroupName,
				mcsv1beta1.ServiceImportPluralName, mcsv1beta1.ServiceImportPluralName+"/status"),
			MatchConditions: []admissionv1.MatchCondition{byMember(namespace)},
			Variables: []admissionv1.Variable{
				self(namespace),
				metadataBytes,
				{Name: "entry", Expression: "request.operation == 'DELETE' ? oldObject : object"},
				{Name: "clusters", Expression: fmt.Sprintf("variables.entry.metadata.?annotations['%s'].orValue('').split(',')", names.AnnotationClusters)},
				{Name: "serviceName", Expression: label("variables.entry", names.LabelServiceName)},
				{Name: "serviceNamespace", Expression: label("variables.entry", names.LabelServiceNamespace)},
			},
			Validations: []admissionv1.Validation{
				refuse(fmt.Sprintf("(request.operation == 'CREATE' || %s == '%s') && %s == '%s'",
					label("oldObject", names.LabelManagedBy), names.AggregateManager,
					label("variables.entry", names.LabelManagedBy), names.AggregateManager),
					fmt.Sprintf("a member may write only aggregated ServiceImports: label %s must be %s", names.LabelManagedBy, names.AggregateManager)),
				{
					Expression: written("variables.self in variables.clusters"),
					MessageExpression: fmt.Sprintf("'only the clusters that an aggregated ServiceImport names may write it: annotation %s must name ' + variables.self",
						names.AnnotationClusters),
					Reason: ptr.To(metav1.StatusReasonForbidden),
				},
				// Without dots in either part, the name is unambiguous.
				refuse("variables.entry.metadata.name == variables.serviceName + '.' + variables.serviceNamespace"+
					" && !variables.serviceName.contains('.') && !variables.serviceNamespace.contains('.')",
					fmt.Sprintf("the name must be <service>.<namespace>, with the values of the labels %s and %s",
						names.LabelServiceName, names.LabelServiceNamespace)),
				refuse(written(fmt.Sprintf("size(variables.clusters.join('_')) > %d || %s == variables.clusters.join('_')",
					names.MaxLabelValue, label("object", names.LabelClusters))),
					fmt.Sprintf("label %s must name the clusters of the annotation, joined by _", names.LabelClusters)),
				refuse(written("!has(object.metadata.finalizers) && !has(object.metadata.ownerReferences)"+
					" && size(object.spec.?ips.orValue([])) == 0"),
					"an aggregated ServiceImport must not have finalizers, owner references or addresses"),
				refuse(written(fmt.Sprintf("object.metadata.?labels.orValue({}).all(k, k in ['%s', '%s', '%s', '%s'])"+
					" && object.metadata.?annotations.orValue({}).all(k, k == '%s')",
					names.LabelManagedBy, names.LabelServiceNamespace, names.LabelServiceName, names.LabelClusters, names.AnnotationClusters)),
					"an aggregated ServiceImport must not have other labels and annotations, such as exported ones"),
				refuse(written(fmt.Sprintf("variables.metadataBytes <= %d", maxCatalogueMetadata)),
					fmt.Sprintf("the labels and annotations together must not exceed %d bytes", maxCatalogueMetadata)),
				refuse(written(catalogueSpec), "the spec exceeds the limits of a Service"),
				refuse("request.?subResource.orValue('') != 'status' || !has(object.status.conditions)"+
					" && object.status.?clusters.orValue([]).map(c, c.cluster) == variables.clusters",
					fmt.Sprintf("the status must list exactly the clusters in annotation %s", names.AnnotationClusters)),
			},
		},
	}
}
