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

// notPermitted is the status of an export of a namespace that its cluster may not export. It is the reason of the ServiceExport's
// condition, too.
const notPermitted = "NamespaceNotPermitted"

// mayExport tells whether a cluster may export the namespace that a record is about.
func mayExport(s *survey.Survey, e *brokerv1alpha1.ExportedServiceSpec) bool {
	return s.Broker.Permissions.MayExport(names.ClusterID(e.ClusterID), e.ServiceNamespace)
}

// outside is how many of the endpoints that a cluster publishes have no address that the broker's administrators permit it, and
// what it may have; nobody else imports them.
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

// allowed says of which clusters endpoints are left out because their addresses are not allowed.
func (x *Explanation) allowed(s *survey.Survey) {
	for _, source := range x.Sources {
		if n, may := outside(s, source.Cluster); n > 0 {
			x.Findings.add(Warning, "endpoints", fmt.Sprintf("%d of the %d endpoints of cluster %s have addresses that the broker does not permit to it. Other clusters do not import them. Permitted: %s.",
				n, source.Published, source.Cluster, may), "If these addresses are right, permit them: "+command.Broker.Atoll("broker members set %s --ranges RANGE,... --clusterset %s", source.Cluster, s.Clusterset))
		}
	}
}
