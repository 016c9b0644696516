// Package contribution decides what a cluster exports for a service, from its ServiceExport and its Service
// (KEP-1645, "Exporting Services").
package contribution

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// Validity is a ServiceExport's validity, for its Valid condition.
type Validity struct {
	Valid   bool
	Reason  mcsv1beta1.ServiceExportConditionReason
	Message string
}

// Validate validates a ServiceExport against the Service of its name, which is nil if there is none.
func Validate(service *corev1.Service) Validity {
	switch {
	case service == nil:
		return Validity{
			Reason:  mcsv1beta1.ServiceExportReasonNoService,
			Message: "This namespace has no Service with this name. The Service is exported when it is created.",
		}
	case service.Spec.Type == corev1.ServiceTypeExternalName:
		return Validity{
			Reason:  mcsv1beta1.ServiceExportReasonInvalidServiceType,
			Message: "Services of type ExternalName cannot be exported. Create the ExternalName Service in each cluster that needs it.",
		}
	case IsDerived(service):
		return Validity{
			Reason: mcsv1beta1.ServiceExportReasonInvalidServiceType,
			Message: fmt.Sprintf("This Service is the derived Service of an import. Export the Service %q in the clusters that run its pods.",
				service.Labels[names.LabelServiceName]),
		}
	default:
		return Validity{Valid: true, Reason: mcsv1beta1.ServiceExportReasonValid, Message: "The ServiceExport is valid, and its Service can be exported."}
	}
}

// NotPermitted is the validity of a ServiceExport in a namespace that the broker's permissions exclude.
func NotPermitted(cluster names.ClusterID, clusterset, namespace string) Validity {
	return Validity{
		Reason: reasonNamespaceNotPermitted,
		Message: fmt.Sprintf("The broker does not permit cluster %q to export namespace %q. "+
			"Other clusters send no traffic to this Service's endpoints in this cluster. To see the permissions: %s",
			cluster, namespace, command.Broker.Atoll("broker members list %s --clusterset %s", cluster, clusterset)),
	}
}

// reasonNamespaceNotPermitted is our own reason: mcs-api has none for this.
const reasonNamespaceNotPermitted mcsv1beta1.ServiceExportConditionReason = "NamespaceNotPermitted"

// Warnings describes an export's invalid parts that the record lacks, and an invalid annotation; "" for none. refused
// comes from Of.
func Warnings(export *mcsv1beta1.ServiceExport, refused []validation.Refused) string {
	warnings := unknownChoice(export)
	if len(refused) > 0 {
		warnings = fmt.Sprintf("Some parts of the Service or its ServiceExport are not exported: %s. All other parts are exported. %s", validation.Summary(refused), warnings)
	}
	return strings.TrimSpace(warnings)
}

// unknownChoice describes an annotation's unknown value; "" if it is valid.
func unknownChoice(export *mcsv1beta1.ServiceExport) string {
	switch value := export.Annotations[names.AnnotationOnClusterLoss]; value {
	case "", names.OnLossWithdraw, names.OnLossKeep:
		return ""
	default:
		return fmt.Sprintf("Annotation %s has the value %q, which is neither %q nor %q, so %[3]q applies.",
			names.AnnotationOnClusterLoss, value, names.OnLossWithdraw, names.OnLossKeep)
	}
}

// IsDerived reports whether Atoll created a Service to carry a clusterset IP.
func IsDerived(service *corev1.Service) bool {
	return slices.ContainsFunc(service.OwnerReferences, func(o metav1.OwnerReference) bool {
		return o.Kind == mcsv1beta1.ServiceImportKindName
	})
}

// Of returns the contribution of a cluster whose Services have these IP families, from a valid export and service,
// restricted by the hub's policy (may be nil). refused are the parts that other clusters would refuse, and that are
// left out. If the policy exposes none of the ports, the record has none.
func Of(cluster names.ClusterID, has []corev1.IPFamily, export *mcsv1beta1.ServiceExport, service *corev1.Service, policy *brokerv1alpha1.ServicePolicySpec) (spec brokerv1alpha1.ExportedServiceSpec, refused []validation.Refused) {
	spec = brokerv1alpha1.ExportedServiceSpec{
		ClusterID:             cluster.String(),
		ServiceNamespace:      export.Namespace,
		ServiceName:           export.Name,
		ExportedAt:            export.CreationTimestamp,
		Type:                  mcsv1beta1.ClusterSetIP,
		IPFamilies:            families(service, has),
		SessionAffinity:       cmp.Or(service.Spec.SessionAffinity, corev1.ServiceAffinityNone),
		SessionAffinityConfig: service.Spec.SessionAffinityConfig.DeepCopy(),
		InternalTrafficPolicy: service.Spec.InternalTrafficPolicy,
		TrafficDistribution:   service.Spec.TrafficDistribution,
		ExportedLabels:        export.Spec.ExportedLabels,
		ExportedAnnotations:   export.Spec.ExportedAnnotations,
	}
	if service.Spec.ClusterIP == corev1.ClusterIPNone {
		spec.Type = mcsv1beta1.Headless
	}
	if export.Annotations[names.AnnotationOnClusterLoss] == names.OnLossKeep {
		spec.OnClusterLoss = names.OnLossKeep
	}
	if ByPolicy(export) && policy != nil {
		if policy.Scope == brokerv1alpha1.ScopeHub {
			spec.Scope = brokerv1alpha1.ScopeHub
		} else {
			spec.Consumers = policy.Consumers
		}
	}
	for _, p := range service.Spec.Ports {
		spec.Ports = append(spec.Ports, mcsv1beta1.ServicePort{
			Name: p.Name, Protocol: cmp.Or(p.Protocol, corev1.ProtocolTCP), AppProtocol: p.AppProtocol, Port: p.Port,
		})
	}
	spec, refused = validation.Record(spec)
	spec, _ = policy.Restrict(spec)
	return spec, refused
}

// TooMany is why a Service is not exported that is not among the oldest ones.
var TooMany = fmt.Sprintf("This cluster has more than %d ServiceExports, and only the oldest %d count in the clusterset. Delete ServiceExports of this cluster.", share.Records, share.Records)

// Withheld reports a Service that is not exported because a MultiClusterService exposes none of its ports.
func Withheld(service *corev1.Service, policy *brokerv1alpha1.ServicePolicySpec) string {
	var exposed, has []string
	for _, p := range policy.Ports {
		exposed = append(exposed, strings.TrimSpace(fmt.Sprintf("%s %s", p.Name, strings.TrimPrefix(strconv.Itoa(int(p.Port)), "0"))))
	}
	for _, p := range service.Spec.Ports {
		has = append(has, strings.TrimSpace(fmt.Sprintf("%s %d", p.Name, p.Port)))
	}
	return fmt.Sprintf("The Service has none of the ports that MultiClusterService %s/%s exposes. Ports of the Service: %s. Exposed ports: %s. "+
		"The Service is not exported, so clients in other clusters cannot reach this cluster's Service. Correct spec.ports of the MultiClusterService or the ports of the Service.",
		policy.ServiceNamespace, policy.ServiceName, few(has), few(exposed))
}

func few(ports []string) string {
	const named = 5
	switch {
	case len(ports) == 0:
		return "none"
	case len(ports) <= named:
		return strings.Join(ports, ", ")
	default:
		return fmt.Sprintf("%s (further ports: %d)", strings.Join(ports[:named], ", "), len(ports)-named)
	}
}

// ByPolicy reports whether a ServiceExport was created for a policy of the hub.
func ByPolicy(export *mcsv1beta1.ServiceExport) bool {
	return export.Labels[names.LabelManagedBy] == names.AgentManager
}

// Release makes a ServiceExport that was created for a policy the user's.
func Release(export metav1.Object) {
	labels, annotations := export.GetLabels(), export.GetAnnotations()
	delete(labels, names.LabelManagedBy)
	delete(annotations, names.AnnotationPolicy)
	delete(annotations, names.AnnotationRevision)
	export.SetLabels(labels)
	export.SetAnnotations(annotations)
}

// AlsoApplied reports whether a user has also applied a policy's ServiceExport. It must then outlive the policy.
func AlsoApplied(export metav1.Object) bool {
	if _, ok := export.GetAnnotations()[corev1.LastAppliedConfigAnnotation]; ok { // by kubectl apply
		return true
	}
	for _, m := range export.GetManagedFields() {
		if m.Operation == metav1.ManagedFieldsOperationApply && m.Subresource == "" && m.Manager != names.ManagerPolicy {
			return true
		}
	}
	return false
}

// families returns the IP families of an exported Service, limited to the cluster's. The API server gives a headless
// Service without selector both families even in a single-stack cluster. The unusable one must not cause a conflict.
func families(service *corev1.Service, has []corev1.IPFamily) []corev1.IPFamily {
	all := slices.Clone(service.Spec.IPFamilies)
	if len(all) > len(has) && len(has) > 0 {
		return slices.DeleteFunc(all, func(f corev1.IPFamily) bool { return !slices.Contains(has, f) })
	}
	return all
}
