package loadbalancer

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Conditions of a MultiClusterService that this controller owns.
const (
	// ConditionReady says whether the load balancer carries all ports.
	ConditionReady = "LoadBalancerReady"
	// ConditionReachable says whether all backends answer. It is True only if the provider tests all of them.
	ConditionReachable = "BackendsReachable"
	// ConditionAccepted says whether the hub uses all endpoints of the provider clusters, for all ports.
	ConditionAccepted = "BackendsAccepted"
)

// Reasons of the conditions, in addition to those of errors (cloudprovider.Reason).
const (
	reasonProvisioned  = "Provisioned"
	reasonNotCarried   = "PortsNotCarried"
	reasonNoService    = "ServiceNotFound"
	reasonExternalName = "InvalidServiceType"
	reasonNoProvider   = "NoSuchProvider"
	reasonDeleting     = "DeletionFailed"
	reasonReachable    = "Reachable"
	reasonSome         = "SomeUnreachable"
	reasonNone         = "NoneReachable"
	reasonNoBackends   = "NoBackends"
	reasonUnknown      = "NotReported"
	reasonUntested     = "NotTested"
	reasonAccepted     = "Accepted"
	reasonNotMatched   = "PortsNotMatched"
	// reasonStatusRefused and reasonUnheld mean that the API server refuses a write of the MultiClusterService.
	reasonStatusRefused = "StatusRefused"
	reasonUnheld        = "FinalizerNotWritten"
	reasonRefused       = "Refused"
	reasonTooMany       = "TooManyBackends"
	reasonRangesNotSet  = "RangesNotSet"
)

// outcome is the result of a provider's call.
type outcome struct {
	provider string
	// status is the load balancer's; nil if it does not exist.
	status *corev1.LoadBalancerStatus
	err    error
	// forwarding is the input of the call.
	forwarding
	// unreachable are backends that do not answer, if the provider reports them.
	unreachable []netip.AddrPort
	reports     bool
}

func (o outcome) conditions() []metav1.Condition {
	return []metav1.Condition{o.ready(), o.reachable(), o.accepted()}
}

func (o outcome) ready() metav1.Condition {
	c := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse}
	switch notCarried := o.notCarried(); {
	case o.err != nil:
		c.Reason = cloudprovider.Reason(o.err)
		c.Message = fmt.Sprintf("Provider %s failed: %v. The hub retries.", o.provider, o.err)
	case o.status == nil || len(o.status.Ingress) == 0:
		c.Reason, c.Message = cloudprovider.ReasonFailed, fmt.Sprintf("Provider %s has assigned no address.", o.provider)
	case len(notCarried) > 0:
		c.Reason = reasonNotCarried
		c.Message = fmt.Sprintf("Provider %s does not forward ports %s. The provider forwards the other ports at %s.", o.provider, strings.Join(notCarried, ", "), o.at())
	case len(o.absent) > 0:
		c.Reason = networkingv1alpha1.ReasonNoSuchPort
		c.Message = fmt.Sprintf("Some ports in spec.ports are not forwarded: the Service has no port %s. %s Provider %s forwards the other ports at %s. Correct spec.ports, or the Service's ports.",
			named(o.absent), o.describePorts(), o.provider, o.at())
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonProvisioned, fmt.Sprintf("Provider %s forwards traffic at %s.", o.provider, o.at())
	}
	return c
}

// portless explains a load balancer without any port.
func portless(f forwarding) metav1.Condition {
	c := metav1.Condition{Type: ConditionReady, Status: metav1.ConditionFalse, Reason: networkingv1alpha1.ReasonNoSuchPort}
	if len(f.existing) == 0 {
		c.Message = "The load balancer forwards no port: the Service on the broker has no ports. Clients cannot connect. Add the ports of the member clusters' Services to the Service on the broker."
		return c
	}
	c.Message = fmt.Sprintf("The load balancer forwards no port: the Service has none of the ports in spec.ports (%s). %s Clients cannot connect. Correct spec.ports, or the Service's ports.",
		named(f.absent), f.describePorts())
	return c
}

// describePorts lists the Service's ports.
func (f forwarding) describePorts() string {
	return fmt.Sprintf("The ports of the Service are %s.", named(f.existing))
}

// at lists the load balancer's addresses.
func (o outcome) at() string {
	var places []string
	for _, i := range o.status.Ingress {
		places = append(places, i.IP+i.Hostname)
	}
	return strings.Join(places, ", ")
}

// notCarried returns the ports with an error in the status.
func (o outcome) notCarried() (ports []string) {
	if o.status == nil {
		return nil
	}
	for _, i := range o.status.Ingress {
		for _, p := range i.Ports {
			if p.Error != nil {
				ports = append(ports, fmt.Sprintf("%s (%s)", describePort(p.Port, p.Protocol), strings.TrimPrefix(*p.Error, cloudprovider.AnnotationPrefix)))
			}
		}
	}
	slices.Sort(ports)
	return slices.Compact(ports)
}

// maxNamed limits the backends that a message names.
const maxNamed = 5

func (o outcome) reachable() metav1.Condition {
	c := metav1.Condition{Type: ConditionReachable, Status: metav1.ConditionFalse}
	clusters := map[netip.AddrPort]string{}
	var empty []string
	for _, port := range o.service.Ports {
		if len(port.Backends) == 0 {
			empty = append(empty, describePort(port.Number, port.Protocol))
		}
		for _, b := range port.Backends {
			clusters[b.Address] = b.Cluster
		}
	}
	var down []string
	for _, a := range o.unreachable {
		if cluster, wanted := clusters[a]; wanted {
			down = append(down, fmt.Sprintf("%s in cluster %s", a, cluster))
		}
	}
	switch {
	case len(clusters) == 0:
		c.Reason, c.Message = reasonNoBackends, "No provider cluster has a ready endpoint for any exposed port."
	case len(down) > 0 && len(down) == len(clusters):
		c.Reason, c.Message = reasonNone, "No backend answers the load balancer: "+named(down)+"."
	case len(down) > 0:
		c.Reason, c.Message = reasonSome, fmt.Sprintf("%d of %d backends do not answer the load balancer, so they get no traffic: %s.", len(down), len(clusters), named(down))
	case len(empty) > 0:
		c.Reason, c.Message = reasonNoBackends, fmt.Sprintf("No provider cluster has a ready endpoint for port %s.", named(empty))
	default:
		return o.answering()
	}
	return c
}

// forwarded returns the ports that the provider forwards, and those whose backends it cannot test: UDP and SCTP have no test
// that works for every server.
func (o outcome) forwarded() (all, untested []string) {
	refused := map[string]bool{}
	for _, i := range o.status.Ingress {
		for _, p := range i.Ports {
			refused[describePort(p.Port, p.Protocol)] = refused[describePort(p.Port, p.Protocol)] || p.Error != nil
		}
	}
	for _, p := range o.service.Ports {
		port := describePort(p.Number, p.Protocol)
		if refused[port] {
			continue
		}
		all = append(all, port)
		if p.Protocol != corev1.ProtocolTCP {
			untested = append(untested, port)
		}
	}
	return all, untested
}

// answering describes backends that do not fail, as far as the provider knows.
func (o outcome) answering() metav1.Condition {
	c := metav1.Condition{Type: ConditionReachable, Status: metav1.ConditionUnknown}
	if o.status == nil || o.err != nil {
		c.Reason = reasonUnknown
		c.Message = fmt.Sprintf("Provider %s failed, so the hub does not know which backends answer. The condition %s contains the error.", o.provider, ConditionReady)
		return c
	}
	all, untested := o.forwarded()
	switch {
	case !o.reports:
		c.Reason, c.Message = reasonUnknown, fmt.Sprintf("Provider %s does not report which backends answer.", o.provider)
	case len(all) == 0:
		c.Reason, c.Message = reasonUntested, fmt.Sprintf("Provider %s forwards no port, so it tests no backend. The condition %s says why.", o.provider, ConditionReady)
	case len(untested) > 0:
		c.Reason = reasonUntested
		c.Message = fmt.Sprintf("The backends of port %s are not tested: no test works for every UDP or SCTP server. The load balancer also sends traffic to backends that do not answer. No failure is known.", named(untested))
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, reasonReachable, "The backends of all forwarded ports answer the load balancer."
	}
	return c
}

func describePort(number int32, protocol corev1.Protocol) string {
	return fmt.Sprintf("%d/%s", number, protocol)
}

// accepted describes the published endpoints that the hub does not use.
func (o outcome) accepted() metav1.Condition {
	c := metav1.Condition{Type: ConditionAccepted, Status: metav1.ConditionFalse}
	var parts []string
	if len(o.tooMany) > 0 {
		c.Reason = reasonTooMany
		parts = append(parts, fmt.Sprintf("The load balancer exceeds the limit of %d backends for a port or %d backends for all ports together: %s. "+
			"The hub selects backends from each cluster in turn. Backends beyond the limit get no traffic. Expose fewer ports or fewer pods.", maxPortBackends, maxBackends, named(o.tooMany)))
	}
	if len(o.unmatched) > 0 {
		c.Reason = reasonNotMatched
		parts = append([]string{fmt.Sprintf("Some provider clusters lack ports of this load balancer: %s. Traffic to such a port does not reach the cluster. "+
			"Add a port with the same protocol, and the same number or name, to the cluster's Service.", named(o.unmatched))}, parts...)
	}
	if n := o.refused.total(); n > 0 {
		c.Reason = reasonRefused
		parts = append([]string{fmt.Sprintf("The hub refuses some endpoints and ports that clusters publish (%d in total): %s. The refused endpoints and ports get no traffic from this load balancer. "+
			"Correct the endpoints and ports in the named clusters.", n, o.refused)}, parts...)
	}
	if len(o.rangeless) > 0 {
		c.Reason = reasonRangesNotSet
		parts = append([]string{describeRangeless(o.rangeless, o.clusterset)}, parts...)
	}
	if len(parts) == 0 {
		c.Status, c.Reason, parts = metav1.ConditionTrue, reasonAccepted, []string{"For all ports, the hub uses all endpoints that the provider clusters publish."}
	}
	c.Message = strings.Join(parts, " ")
	return c
}

// describeRangeless explains that clusters need permitted ranges, with a command for each.
func describeRangeless(clusters []string, clusterset string) string {
	var commands []string
	for _, cluster := range clusters {
		commands = append(commands, command.Broker.Atoll("broker members set %s --ranges RANGES_OF_PODS --clusterset %s", cluster, clusterset))
	}
	return fmt.Sprintf("The hub refuses all endpoints of some provider clusters, because the broker permits no address ranges for them: %s. These clusters get no traffic from this load balancer. "+
		"Permit the ranges of each cluster's pods: %s.", named(clusters), named(commands))
}

func named(list []string) string {
	if len(list) <= maxNamed {
		return strings.Join(list, ", ")
	}
	return fmt.Sprintf("%s (%d more not shown)", strings.Join(list[:maxNamed], ", "), len(list)-maxNamed)
}

// unserved explains a missing Service and its effect on an existing load balancer.
func unserved(f forwarding) metav1.Condition {
	reason := reasonNoService
	if errors.Is(f.missing, errExternalName) {
		reason = reasonExternalName
	}
	since := "An existing load balancer keeps its ports and backends."
	if f.unknown {
		since = "The hub has not read the Service since it started, so it does not change an existing load balancer."
	}
	return metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: reason, Message: fmt.Sprintf("The ports and backends are unknown: %v. %s", f.missing, since),
	}
}

// unheld explains that the hub cannot set a finalizer.
func unheld(provider string, err error) metav1.Condition {
	return metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: reasonUnheld, Message: fmt.Sprintf(
			"The hub does not create a load balancer with provider %s, because the hub cannot set the finalizer that it needs to delete the load balancer later: %v. The hub retries.", provider, err),
	}
}

// unknown says that a provider is not available. The addresses stay in the status: the load balancer gets them again,
// and no other may use them.
func unknown(provider string, err error) metav1.Condition {
	return metav1.Condition{
		Type: ConditionReady, Status: metav1.ConditionFalse, Reason: cloudprovider.Reason(err), Message: fmt.Sprintf(
			"Provider %s failed: %v. The hub retries. The state of the provider's load balancers is unknown.", provider, err),
	}
}
