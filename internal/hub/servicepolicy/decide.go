package servicepolicy

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// project converts a MultiClusterService to a policy for the members' agents.
func project(mcs *networkingv1alpha1.MultiClusterService) brokerv1alpha1.ServicePolicySpec {
	policy := brokerv1alpha1.ServicePolicySpec{
		ServiceNamespace: mcs.Namespace, ServiceName: mcs.Name,
		Scope: brokerv1alpha1.ScopeHub, Providers: mcs.Spec.Providers(),
	}
	if mcs.Spec.Has(networkingv1alpha1.ExposureTypeCrossCluster) {
		policy.Scope, policy.Consumers = brokerv1alpha1.ScopeClusterset, mcs.Spec.Consumers()
	}
	for _, p := range mcs.Spec.Ports {
		policy.Ports = append(policy.Ports, brokerv1alpha1.PolicyPort{Name: p.Name, Port: p.Port})
	}
	return policy
}

// state is the input for one MultiClusterService.
type state struct {
	mcs     *networkingv1alpha1.MultiClusterService
	service *corev1.Service // nil if it does not exist
	members []string
	// exporters are the members that export the Service.
	exporters []string
	// users are the exporters whose export is not for the hub only. ignored describes the exports that do not count.
	users, ignored []string
	// refusal is the API server's message if it refuses the policy, unwritten another error that keeps the hub from writing it.
	refusal, unwritten string
}

func (s state) conditions() []metav1.Condition {
	return []metav1.Condition{s.serviceFound(), s.clustersFound(), s.exported()}
}

func (s state) serviceFound() metav1.Condition {
	c := metav1.Condition{Type: networkingv1alpha1.ConditionServiceFound, Status: metav1.ConditionFalse}
	if problems := validation.IsDNS1123Label(s.mcs.Name); len(problems) > 0 {
		c.Reason = networkingv1alpha1.ReasonNoService
		c.Message = fmt.Sprintf("No Service can have the name of this MultiClusterService: %s. The MultiClusterService has no effect. Delete it, and create a MultiClusterService with the name and namespace of the Service.",
			strings.Join(problems, "; "))
		return c
	}
	if s.service == nil {
		c.Reason = networkingv1alpha1.ReasonNoService
		c.Message = fmt.Sprintf("The broker's API server has no Service %s/%s. A MultiClusterService exposes the Service with the same name and namespace. "+
			"Clusters still share their Services with that name, but a load balancer has no ports. Create the Service on the broker. The Service needs no pods there.",
			s.mcs.Namespace, s.mcs.Name)
		return c
	}
	if missing := networkingv1alpha1.MissingPorts(s.mcs.Spec.Ports, s.service); len(missing) > 0 {
		c.Reason = networkingv1alpha1.ReasonNoSuchPort
		has := networkingv1alpha1.PortsOf(s.service)
		c.Message = fmt.Sprintf("The Service has no port %s. The ports of the Service are %s. %s Correct spec.ports, or the Service's ports.", strings.Join(missing[:min(len(missing), maxNamed)], ", nor "),
			strings.Join(has[:min(len(has), maxNamed)], ", "), effect(len(missing), len(s.mcs.Spec.Ports)))
		return c
	}
	c.Status, c.Reason, c.Message = metav1.ConditionTrue, networkingv1alpha1.ReasonFound, "The Service exists and has all ports in spec.ports."
	return c
}

// maxNamed limits the ports that a message names.
const maxNamed = 5

// effect describes the effect of missing ports.
func effect(missing, of int) string {
	if missing == of {
		return "Clusters do not export a Service that has none of the ports in spec.ports."
	}
	return fmt.Sprintf("The Service does not have %d of the %d ports in spec.ports. These ports are not exposed.", missing, of)
}

func (s state) clustersFound() metav1.Condition {
	if unknown := s.unknown(); len(unknown) > 0 {
		return metav1.Condition{
			Type: networkingv1alpha1.ConditionClustersFound, Status: metav1.ConditionFalse, Reason: networkingv1alpha1.ReasonNoSuchCluster,
			Message: fmt.Sprintf("These clusters are not members of the clusterset and are ignored until they join: %s.", names.ListClusters(unknown)),
		}
	}
	return metav1.Condition{
		Type: networkingv1alpha1.ConditionClustersFound, Status: metav1.ConditionTrue, Reason: networkingv1alpha1.ReasonFound,
		Message: "All clusters that the MultiClusterService names are members of the clusterset.",
	}
}

// unknown returns the named clusters that are not members, without duplicates.
func (s state) unknown() []string {
	var unknown []string
	for _, c := range slices.Concat(s.mcs.Spec.Providers(), s.mcs.Spec.Consumers()) {
		if !slices.Contains(s.members, c) && !slices.Contains(unknown, c) {
			unknown = append(unknown, c)
		}
	}
	return unknown
}

func (s state) exported() metav1.Condition {
	if s.refusal != "" {
		return metav1.Condition{
			Type: networkingv1alpha1.ConditionExported, Status: metav1.ConditionFalse, Reason: networkingv1alpha1.ReasonPolicyRefused,
			Message: status.Note(fmt.Sprintf("The broker's API server rejects the ServicePolicy that tells clusters about this MultiClusterService. "+
				"If a policy was accepted before, clusters still apply that policy. The hub retries every 20 to 30 seconds. The API server's message: %s", s.refusal)),
		}
	}
	c := metav1.Condition{Type: networkingv1alpha1.ConditionExported, Status: metav1.ConditionFalse}
	if s.unwritten != "" {
		c.Reason = networkingv1alpha1.ReasonPolicyNotWritten
		c.Message = status.Note(fmt.Sprintf("The hub cannot write the ServicePolicy that tells clusters about this MultiClusterService. "+
			"If a policy was written before, clusters still apply that policy. The hub retries at least every 30 seconds. The error: %s", s.unwritten))
		return c
	}
	if !s.crossCluster() && !s.mcs.Spec.Has(networkingv1alpha1.ExposureTypeLoadBalancer) {
		c.Reason = networkingv1alpha1.ReasonNoSuchType
		c.Message = fmt.Sprintf("spec.types contains no known type: %q. The Service is not exposed. Set CrossCluster, LoadBalancer or both.", s.mcs.Spec.Types)
		return c
	}
	var parts []string
	switch missing := s.notExporting(); {
	case len(s.exporters) == 0:
		c.Reason = networkingv1alpha1.ReasonNotExported
		parts = []string{s.notExported()}
	case len(missing) > 0:
		c.Reason = networkingv1alpha1.ReasonPartlyExported
		parts = []string{s.exportedTo(), fmt.Sprintf("These provider clusters do not export the Service, so their pods get no traffic from other clusters or the load balancer: %s. Create an exportable Service %s/%s%s in these clusters.",
			names.ListClusters(missing), s.mcs.Namespace, s.mcs.Name, withPort(s.mcs.Spec.Ports))}
	default:
		c.Status, c.Reason, parts = metav1.ConditionTrue, networkingv1alpha1.ReasonExported, []string{s.exportedTo()}
	}
	if len(s.ignored) > 0 {
		parts = append(parts, fmt.Sprintf("The hub ignores these exports, so they get no traffic: %s.", strings.Join(s.ignored[:min(len(s.ignored), maxNamed)], "; ")))
	}
	if s.crossCluster() && names.Closed(s.mcs.Namespace, nil) {
		parts = append(parts, systemNamespace(s.mcs.Namespace))
	}
	c.Message = strings.Join(parts, " ")
	return c
}

func (s state) crossCluster() bool {
	return s.mcs.Spec.Has(networkingv1alpha1.ExposureTypeCrossCluster)
}

// notExporting returns the providerClusters that are members and do not export the Service.
func (s state) notExporting() []string {
	return slices.DeleteFunc(s.mcs.Spec.Providers(), func(c string) bool { return !slices.Contains(s.members, c) || slices.Contains(s.exporters, c) })
}

// notExported says why no cluster exports the Service. In a system namespace, clusters may have one that they do not export.
func (s state) notExported() string {
	if names.Closed(s.mcs.Namespace, nil) {
		return "No cluster exports the Service."
	}
	return fmt.Sprintf("No cluster exports the Service, because %s has an exportable Service %s/%s%s.",
		among(s.mcs.Spec.Providers()), s.mcs.Namespace, s.mcs.Name, withPort(s.mcs.Spec.Ports))
}

// exportedTo says who exports the Service, and to whom.
func (s state) exportedTo() string {
	to := "the load balancer only"
	if s.crossCluster() {
		to = "all members that have the namespace"
		if consumers := s.mcs.Spec.Consumers(); len(consumers) > 0 {
			to = names.ListClusters(consumers)
		}
	}
	text := fmt.Sprintf("The Service is exported by %s to %s.", names.ListClusters(s.exporters), to)
	if !s.crossCluster() && len(s.users) > 0 {
		text += fmt.Sprintf(" In cluster %s, a user's ServiceExport also exports the Service to all members.", names.ListClusters(s.users))
	}
	return text
}

// systemNamespace says that a MultiClusterService in a system namespace is not imported by default, and how to change that.
func systemNamespace(namespace string) string {
	return fmt.Sprintf("Namespace %s is a system namespace: a cluster exports or imports the Service only if the namespace has the label that allows this in that cluster. "+
		"Use another namespace, or run this command in each provider cluster and in each importing cluster: %s",
		namespace, command.Of("CLUSTER").Kubectl("label namespace %s --overwrite %s=%s", namespace, names.LabelExports, names.ExportsAllowed))
}

// withPort adds the port requirement to a message when spec.ports is set.
func withPort(ports []networkingv1alpha1.ExposurePort) string {
	if len(ports) == 0 {
		return ""
	}
	return " with one of the ports in spec.ports"
}

func among(providers []string) string {
	if len(providers) == 0 {
		return "none of the members"
	}
	return "none of the provider clusters " + names.ListClusters(providers)
}

// changedConditions returns the conditions that changed. A new condition counts only if it reports a problem.
func changedConditions(before, now []metav1.Condition) []metav1.Condition {
	var changed []metav1.Condition
	for _, c := range now {
		had := meta.FindStatusCondition(before, c.Type)
		differs := had == nil || had.Status != c.Status || had.Message != c.Message
		if differs && (had != nil || c.Reason != networkingv1alpha1.ReasonFound) {
			changed = append(changed, c)
		}
	}
	return changed
}
