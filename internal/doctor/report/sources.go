package report

import (
	"fmt"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Source is the endpoints of one exporting cluster.
type Source struct {
	Cluster string `json:"cluster"`
	// Published is the number of endpoints on the broker.
	Published int `json:"published"`
	// Imported is how many of them the queried cluster has, ReadyHere how many get new connections there.
	Imported  int `json:"imported"`
	ReadyHere int `json:"readyHere"`
	// Reason explains a lower number here.
	Reason string `json:"reason,omitempty"`
}

// isHidden reports whether none of the published endpoints is imported.
func (s Source) isHidden() bool { return s.Published > 0 && s.Imported == 0 }

func (x *Explanation) sources(s *survey.Survey, namespace string, exports []merge.Export) {
	clusters := merge.Precedence(exports)
	count := func(list []discoveryv1.EndpointSlice, cluster string) (total, ready int) {
		for _, e := range endpoints(list) {
			if e.Cluster == cluster {
				total++
				if e.State == EndpointReady {
					ready++
				}
			}
		}
		return total, ready
	}
	for _, slice := range s.Cluster.Slices { // including clusters without an export on the broker
		if id := slice.Labels[names.LabelSourceCluster]; !slices.Contains(clusters, id) {
			clusters = append(clusters, id)
		}
	}
	rules := rulesIn(s, namespace)
	for _, id := range clusters {
		source := Source{Cluster: id}
		source.Imported, source.ReadyHere = count(s.Cluster.Slices, id)
		ready := 0
		if s.Broker != nil {
			source.Published, ready = count(s.Broker.Slices, id)
		}
		source.Reason = why(s, source, ready)
		if because, _ := rules.Reason(names.ClusterID(id)).Explain(namespace, s.On); because != "" && id != x.Cluster {
			source.Reason = because
		}
		x.Sources = append(x.Sources, source)
	}
}

// why explains why a source has fewer ready endpoints here than it publishes.
func why(s *survey.Survey, source Source, publishedReady int) string {
	since := s.Cluster.Withdrawn[source.Cluster]
	out, _ := outside(s, source.Cluster)
	switch {
	case since != "" && source.ReadyHere == 0:
		return "withdrawn: the cluster has been unreachable since " + since
	case source.ReadyHere > 0 && source.Imported >= source.Published:
		return ""
	case s.Broker == nil:
		return "unknown: the broker cannot be read"
	case source.Published == 0:
		return "the cluster publishes no endpoints: its Service selects no pods, or no pod has an address"
	case out > 0 && source.Cluster != s.ClusterID.String() && source.Imported+out >= source.Published:
		return fmt.Sprintf("%d endpoints are not imported: the broker does not permit their addresses for the exporting cluster", out)
	case source.Imported < source.Published && ownOverBudget(s, source.Cluster):
		return fmt.Sprintf("cluster %s exceeds this cluster's per-member budget, so some endpoints are not imported: export fewer services in the exporting cluster, or raise --member-budget in this cluster", source.Cluster)
	case source.Imported == 0:
		return "no endpoint is imported: see the findings above and the Events of the ServiceImport"
	case publishedReady == 0:
		return "no pod is ready in the exporting cluster"
	case source.Imported < source.Published:
		return "some endpoints are not imported: they have not arrived yet, or this cluster lacks their IP family or uses their addresses itself (see the Events of the ServiceImport)"
	}
	return "no endpoint is ready"
}

// ownOverBudget reports whether a member exceeds the queried cluster's budget.
func ownOverBudget(s *survey.Survey, member string) bool {
	return s.Broker != nil && slices.ContainsFunc(s.Broker.Members, func(m brokerv1alpha1.MemberCluster) bool {
		return m.Name == s.ClusterID.String() && slices.Contains(m.Spec.OverBudget, member)
	})
}
