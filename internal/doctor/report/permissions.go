package report

import (
	"fmt"
	"net/netip"
	"slices"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// notPermitted is the status of an export from a namespace that its cluster may not export. The ServiceExport's
// condition has the same reason.
const notPermitted = "NamespaceNotPermitted"

// mayExport reports whether a cluster may export the namespace of a record.
func mayExport(s *survey.Survey, e *brokerv1alpha1.ExportedServiceSpec) bool {
	return s.Broker.Permissions.MayExport(names.ClusterID(e.ClusterID), e.ServiceNamespace)
}

// outside returns how many of a cluster's published endpoints are outside its permitted ranges, and those ranges.
// Other clusters do not import such endpoints.
func outside(s *survey.Survey, cluster string) (n int, may string) {
	if s.Broker == nil {
		return 0, ""
	}
	id := names.ClusterID(cluster)
	set, restricted := s.Broker.Permissions.RangesOf(id)
	if !restricted {
		return 0, ""
	}
	for _, e := range endpoints(s.Broker.Slices) {
		if e.Cluster == cluster && !slices.ContainsFunc(e.Addresses, func(text string) bool {
			address, err := netip.ParseAddr(text)
			return err == nil && set.Contains(address)
		}) {
			n++
		}
	}
	if may = set.String(); may == "" {
		may = "none"
	}
	return n, may
}

// allowed adds findings about endpoints with addresses that are not permitted.
func (x *Explanation) allowed(s *survey.Survey) {
	for _, source := range x.Sources {
		if n, may := outside(s, source.Cluster); n > 0 {
			x.Findings.add(Warning, "endpoints", fmt.Sprintf("%d of the %d endpoints of cluster %s have addresses that the broker does not permit for that cluster. Other clusters do not import these endpoints. Permitted addresses: %s.",
				n, source.Published, source.Cluster, may), "If these addresses are correct, permit them: "+command.Broker.Atoll("broker members set %s --ranges RANGE,... --clusterset %s", source.Cluster, s.Clusterset))
		}
	}
}
