package report

import (
	"fmt"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// Statuses of exports that clusters do not import as they were exported.
const (
	// hubOnly is the status of an export that only the hub's load balancers use.
	hubOnly = "HubOnly"
	// portsRestricted is the status of an export of which a MultiClusterService exposes only some ports, noPortExposed of
	// one of which it exposes none.
	portsRestricted = "PortsRestricted"
	noPortExposed   = "NoPortExposed"
)

// IsRestricted reports whether clusters do not import all of the export.
func (e Export) IsRestricted() bool {
	return e.Status == hubOnly || e.Status == portsRestricted || e.Status == noPortExposed
}

// restrict sets the status of a published export that clusters do not import, or not with all ports.
func (e *Export) restrict(s *survey.Survey, record brokerv1alpha1.ExportedServiceSpec) {
	service := types.NamespacedName{Namespace: record.ServiceNamespace, Name: record.ServiceName}
	policy := policyOf(s, service)
	_, some := policy.Restrict(record)
	only := e.restrictedPorts(s, policy, record)
	switch {
	case !some:
		e.Status, e.problem = noPortExposed, Warning
		e.Message = "The MultiClusterService exposes no port of this export, so no cluster imports the export."
	case record.Scope == brokerv1alpha1.ScopeHub:
		e.Status, e.Message = hubOnly, "Only the load balancers of the MultiClusterService use this export. Clusters do not import the export."
		if only != "" {
			e.Message += " " + only
		}
	case only != "":
		e.Status, e.Message = portsRestricted, only
	}
}

// restrictedPorts says which ports of an export a policy leaves out, or "" if it leaves out none. A record already lacks
// these ports. So if the exporting cluster is another one, only the exposed ports are known.
func (e *Export) restrictedPorts(s *survey.Survey, policy *brokerv1alpha1.ServicePolicySpec, record brokerv1alpha1.ExportedServiceSpec) string {
	if policy == nil || len(policy.Ports) == 0 || policy.Scope == brokerv1alpha1.ScopeHub && record.Scope != brokerv1alpha1.ScopeHub {
		return ""
	}
	own := serviceOf(s, policy.Service())
	if e.Cluster != s.ClusterID.String() || own == nil {
		var exposed []string
		for _, p := range policy.Ports {
			exposed = append(exposed, strings.TrimSpace(p.Name+" "+strings.TrimPrefix(strconv.Itoa(int(p.Port)), "0")))
		}
		return fmt.Sprintf("The MultiClusterService exposes only the ports %s. Other ports of the Service cannot be reached.", strings.Join(exposed, ", "))
	}
	var out []string
	for _, p := range own.Spec.Ports {
		port := mcsv1beta1.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Port}
		if _, exposed := policy.Restrict(brokerv1alpha1.ExportedServiceSpec{Scope: record.Scope, Ports: []mcsv1beta1.ServicePort{port}}); !exposed {
			out = append(out, portText(p.Name, p.Port, p.Protocol))
		}
	}
	if len(out) == 0 {
		return ""
	}
	return fmt.Sprintf("The MultiClusterService does not expose the ports %s. These ports cannot be reached.", strings.Join(out, ", "))
}
