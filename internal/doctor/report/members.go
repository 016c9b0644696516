package report

import (
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// silent is how long a heartbeat may be missing where it does not say: the agents' own default.
const silent = 40 * time.Second

// Member is a cluster of the clusterset.
type Member struct {
	Cluster string `json:"cluster"`
	// State is one of the values below.
	State MemberState `json:"state"`
	// HeartbeatSeconds is the age of its last heartbeat by the broker's clock; absent where it
	// has none.
	HeartbeatSeconds *int64   `json:"heartbeatSeconds,omitempty"`
	Kubernetes       string   `json:"kubernetes,omitempty"`
	Agent            string   `json:"agent,omitempty"`
	Region           string   `json:"region,omitempty"`
	Advertises       string   `json:"advertises"`
	IPFamilies       []string `json:"ipFamilies,omitempty"`
	PodCIDRs         []string `json:"podCIDRs,omitempty"`
	ServiceCIDRs     []string `json:"serviceCIDRs,omitempty"`
	// Exports is how many services it exports.
	Exports int `json:"exports"`
	// Namespaces are the patterns of namespaces that the broker's administrators let it export; ["*"] for all.
	Namespaces []string `json:"namespaces"`
	// AllowedRanges are those that its endpoints may be in; absent where they may have any address.
	AllowedRanges *[]string `json:"allowedRanges,omitempty"`
	// OverBudgetOf are the clusters whose budget for one member it exceeds: what is beyond it arrives late there.
	OverBudgetOf []string `json:"overBudgetOf,omitempty"`
	// Self tells that it is the cluster that was asked.
	Self bool `json:"self,omitempty"`
}

// MemberState is what is known of a member's being there.
type MemberState string

// The states.
const (
	// MemberReady is a member whose heartbeat is renewed.
	MemberReady MemberState = "Ready"
	// MemberSilent is one whose heartbeat is missing; its endpoints are still used.
	MemberSilent MemberState = "Silent"
	// MemberLost is one whose endpoints the asked cluster has withdrawn.
	MemberLost MemberState = "Lost"
	// MemberJoining is one that has never sent a heartbeat.
	MemberJoining MemberState = "Joining"
)

// Members lists the clusterset's members by id.
func Members(s *survey.Survey) []Member {
	if s.Broker == nil {
		return nil
	}
	exports := map[string]int{}
	for _, e := range s.Broker.Exports {
		exports[e.Spec.ClusterID]++
	}
	members := make([]Member, 0, len(s.Broker.Members))
	for _, m := range s.Broker.Members {
		member := Member{
			Cluster: m.Name, State: MemberJoining, Kubernetes: m.Spec.KubernetesVersion, Agent: m.Spec.AgentVersion, Region: m.Spec.Region,
			Advertises: string(m.Spec.AdvertiseMode), IPFamilies: texts(m.Spec.IPFamilies), PodCIDRs: m.Spec.PodCIDRs, ServiceCIDRs: m.Spec.ServiceCIDRs,
			Exports: exports[m.Name], Self: m.Name == s.ClusterID.String(),
		}
		member.permissions(s.Broker.Permissions.Of(names.ClusterID(m.Name)))
		if silence, ok := s.Broker.Silence(m.Name); ok {
			member.HeartbeatSeconds = ptr.To(int64(silence.Seconds()))
			member.State = MemberReady
			if silence >= s.Broker.Patience(m.Name, silent) {
				member.State = MemberSilent
			}
		}
		if s.Cluster.Withdrawn[m.Name] != "" {
			member.State = MemberLost
		}
		members = append(members, member)
	}
	for i := range members {
		members[i].overBudget(members, s.Broker.Members)
	}
	slices.SortFunc(members, func(a, b Member) int { return strings.Compare(a.Cluster, b.Cluster) })
	return members
}

// overBudget sets whose budget the member exceeds. A cluster without a heartbeat can't withdraw what it said, and does not count.
func (m *Member) overBudget(members []Member, described []brokerv1alpha1.MemberCluster) {
	for i, other := range members {
		if other.State == MemberReady && slices.Contains(described[i].Spec.OverBudget, m.Cluster) {
			m.OverBudgetOf = append(m.OverBudgetOf, other.Cluster)
		}
	}
	slices.Sort(m.OverBudgetOf)
}

// permissions sets what the member is permitted.
func (m *Member) permissions(permitted permissions.Member) {
	m.Namespaces = []string{"*"}
	if permitted.Namespaces != nil {
		m.Namespaces = permitted.Namespaces.Texts()
	}
	if permitted.Ranges != nil {
		m.AllowedRanges = ptr.To(permitted.Ranges.Texts())
	}
}
