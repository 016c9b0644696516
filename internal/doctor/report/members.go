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
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

// silent is how late a heartbeat may be if its Lease has no duration: the agents' default.
const silent = 40 * time.Second

// Member is a cluster of the clusterset.
type Member struct {
	Cluster string `json:"cluster"`
	// State is the member's state.
	State MemberState `json:"state"`
	// HeartbeatSeconds is the age of the last heartbeat by the broker's clock; absent without a heartbeat.
	HeartbeatSeconds *int64   `json:"heartbeatSeconds,omitempty"`
	Kubernetes       string   `json:"kubernetes,omitempty"`
	Agent            string   `json:"agent,omitempty"`
	Region           string   `json:"region,omitempty"`
	Advertises       string   `json:"advertises"`
	IPFamilies       []string `json:"ipFamilies,omitempty"`
	PodCIDRs         []string `json:"podCIDRs,omitempty"`
	ServiceCIDRs     []string `json:"serviceCIDRs,omitempty"`
	// Exports is the number of exported services, and ExportsLimit how many of one cluster count.
	Exports      int `json:"exports"`
	ExportsLimit int `json:"exportsLimit"`
	// Namespaces are the patterns of namespaces that the broker permits to export; ["*"] for all.
	Namespaces []string `json:"namespaces"`
	// AllowedRanges are the permitted ranges of its endpoints; absent without a restriction.
	AllowedRanges *[]string `json:"allowedRanges,omitempty"`
	// OverBudgetOf are the clusters whose budget per member it exceeds. Endpoints beyond the budget are not imported there.
	OverBudgetOf []string `json:"overBudgetOf,omitempty"`
	// Isolation says what the member found when it last tried whether the broker limits members to their own objects; absent if unknown.
	Isolation string `json:"isolation,omitempty"`
	// Drained says how many of the exports are drained: "all", "2 of 7", or absent.
	Drained string `json:"drained,omitempty"`
	// Self means that this is the queried cluster.
	Self bool `json:"self,omitempty"`
}

// MemberState says whether a member sends heartbeats.
type MemberState string

// Values of MemberState.
const (
	// MemberReady is a member with a current heartbeat.
	MemberReady MemberState = "Ready"
	// MemberSilent is a member with a late heartbeat; its endpoints are still used.
	MemberSilent MemberState = "Silent"
	// MemberLost is a member whose endpoints the queried cluster has withdrawn.
	MemberLost MemberState = "Lost"
	// MemberJoining is a member that has never sent a heartbeat.
	MemberJoining MemberState = "Joining"
)

// Members lists the clusterset's members by ID.
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
			Exports: exports[m.Name], ExportsLimit: share.Records, Isolation: string(m.Spec.Isolation), Self: m.Name == s.ClusterID.String(),
		}
		member.Drained = drained(s, m.Name)
		member.permissions(s.Broker.Permissions.Of(names.ClusterID(m.Name)))
		if silence, ok := s.Broker.Silence(m.Name); ok {
			member.HeartbeatSeconds = ptr.To(int64(silence.Seconds()))
			member.State = MemberReady
			if silence >= s.Broker.SilenceLimit(m.Name, silent) {
				member.State = MemberSilent
			}
		}
		if s.Cluster.Silent[m.Name] != "" {
			member.State = MemberSilent
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

// overBudget sets OverBudgetOf. It ignores clusters without a current heartbeat, because they cannot retract their
// reports.
func (m *Member) overBudget(members []Member, described []brokerv1alpha1.MemberCluster) {
	for i, other := range members {
		if other.State == MemberReady && slices.Contains(described[i].Spec.OverBudget, m.Cluster) {
			m.OverBudgetOf = append(m.OverBudgetOf, other.Cluster)
		}
	}
	slices.Sort(m.OverBudgetOf)
}

// permissions sets the member's permissions.
func (m *Member) permissions(permitted permissions.Member) {
	m.Namespaces = []string{"*"}
	if permitted.Namespaces != nil {
		m.Namespaces = permitted.Namespaces.Texts()
	}
	if permitted.Ranges != nil {
		m.AllowedRanges = ptr.To(permitted.Ranges.Texts())
	}
}
