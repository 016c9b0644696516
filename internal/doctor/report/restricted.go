package report

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// Statuses of exports that clusters do not import as they were exported.
const (
	// hubOnly is the status of an export that only the hub's load balancers use.
	hubOnly = "HubOnly"
	// portsLeftOut is the status of an export of which a MultiClusterService leaves ports out, noPortExposed of one of which
	// it leaves out all ports.
	portsLeftOut  = "PortsLeftOut"
	noPortExposed = "NoPortExposed"
)

// IsRestricted reports whether clusters do not import all of the export.
func (e Export) IsRestricted() bool {
	return e.Status == hubOnly || e.Status == portsLeftOut || e.Status == noPortExposed
}

// restrict sets the status of a published export that clusters do not import, or not with all ports.
func (e *Export) restrict(s *survey.Survey, record brokerv1alpha1.ExportedServiceSpec) {
	restricted, some := policyOf(s, types.NamespacedName{Namespace: record.ServiceNamespace, Name: record.ServiceName}).Restrict(record)
	left := ports(restricted.Ports)
	out := strings.Join(slices.DeleteFunc(ports(record.Ports), func(p string) bool { return slices.Contains(left, p) }), ", ")
	switch {
	case !some:
		e.Status, e.problem = noPortExposed, Warning
		e.Message = fmt.Sprintf("The MultiClusterService exposes none of the ports %s. No cluster imports this export.", out)
	case record.Scope == brokerv1alpha1.ScopeHub:
		e.Status, e.Message = hubOnly, "Only the load balancers of the MultiClusterService use this export. Clusters do not import the export."
		if out != "" {
			e.Message += fmt.Sprintf(" The MultiClusterService does not expose the ports %s.", out)
		}
	case out != "":
		e.Status = portsLeftOut
		e.Message = fmt.Sprintf("The MultiClusterService does not expose the ports %s, so clusters do not import these ports.", out)
	}
}
