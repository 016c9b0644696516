package report

import (
	"fmt"
	"net/netip"
	"slices"

	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/survey"
)

// outside is how many of the endpoints that a cluster publishes have no address that the broker's owner allows it, and
// what it may have; nobody else imports them.
func outside(s *survey.Survey, cluster string) (n int, may string) {
	if s.Broker == nil {
		return 0, ""
	}
	id := names.ClusterID(cluster)
	set, fixed := s.Broker.Allowed.Of(id)
	if !fixed {
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
			x.Findings.add(Warning, "endpoints", fmt.Sprintf("%d of the %d endpoints of cluster %s have addresses that the broker's owner does not allow it, and other clusters leave them out; allowed are: %s",
				n, source.Published, source.Cluster, may), "if they are right, have the broker's owner allow them: atoll broker ranges set "+source.Cluster+" RANGE...")
		}
	}
}
