package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Source is the endpoints of one exporting cluster.
type Source struct {
	Cluster string `json:"cluster"`
	// Published is the number of endpoints on the broker.
	Published int `json:"published"`
	// Imported is how many of them the queried cluster has, ReadyHere how many get new connections there: they are ready, and
	// have a port of the service.
	Imported  int `json:"imported"`
	ReadyHere int `json:"readyHere"`
	// Standby is how many of them are on standby here.
	Standby int `json:"standby,omitempty"`
	// LeftOut is how many of them are not imported because other endpoints are preferred, or the cluster is drained.
	LeftOut int `json:"leftOut,omitempty"`
	// Unproven is set if no endpoint of the cluster has ever answered the agent: it is not put on standby if it does not answer.
	Unproven bool `json:"unproven,omitempty"`
	// Reason explains a lower number here.
	Reason string `json:"reason,omitempty"`

	incomplete bool // fewer endpoints than published are imported, or get new connections
}

func (x *Explanation) sources(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	clusters := merge.Precedence(exports)
	count := func(list []discoveryv1.EndpointSlice, cluster string, usable func(Endpoint) bool) (total, ready int) {
		for _, e := range endpoints(list) {
			if e.Cluster == cluster {
				total++
				if usable(e) {
					ready++
				}
			}
		}
		return total, ready
	}
	serves := func(e Endpoint) bool {
		return e.State == EndpointReady && (x.Import == nil || x.Import.IsServedBy(e))
	}
	for _, slice := range s.Cluster.Slices { // including clusters without an export on the broker
		if id := slice.Labels[names.LabelSourceCluster]; !slices.Contains(clusters, id) {
			clusters = append(clusters, id)
		}
	}
	rules, leftOut := rulesIn(s, service.Namespace), x.decided(s, service, exports)
	for _, id := range clusters {
		absent := leftOut[id]
		source := Source{Cluster: id, LeftOut: absent.endpoints, Unproven: s.Cluster.Unproven[id] != ""}
		source.Imported, source.ReadyHere = count(s.Cluster.Slices, id, serves)
		standby, off, because := onStandby(s.Cluster.Slices, id)
		source.Standby = standby
		ready := 0
		if s.Broker != nil {
			source.Published, ready = count(x.ofFamilies(s.Broker.Slices), id, func(e Endpoint) bool { return e.State == EndpointReady })
		}
		_, readyHere := count(s.Cluster.Slices, id, func(e Endpoint) bool { return e.State == EndpointReady })
		// The queried cluster imports its own endpoints directly, whatever it publishes.
		source.incomplete = id != x.Cluster && (source.Imported+absent.endpoints < source.Published || source.ReadyHere+standby+off+absent.ready < ready) || source.ReadyHere < readyHere
		source.Reason = why(s, source, ready, readyHere, id != x.Cluster && x.Import.warnsOf(id))
		if role := roleOf(source.ReadyHere, standby, off, absent, because); role != "" && (source.ReadyHere == 0 || source.Reason == "") && !source.incomplete {
			source.Reason = role
		}
		if because, _ := rules.Reason(names.ClusterID(id)).Explain(service.Namespace, s.On); because != "" && id != x.Cluster {
			source.Reason = because
		}
		x.Sources = append(x.Sources, source)
	}
}

// roleOf says which endpoints of a cluster get no connections, or get some only because no others are ready, and why. It is "" if there
// is nothing to say.
func roleOf(active, standby, off int, absent absentees, because string) string {
	var roles []string
	if active > 0 && absent.active != "" {
		roles = append(roles, fmt.Sprintf("%d active: %s", active, absent.active))
	}
	if standby > 0 {
		roles = append(roles, fmt.Sprintf("%d on standby: %s", standby, because))
	}
	if off > 0 {
		roles = append(roles, fmt.Sprintf("%d get no connections: %s", off, because))
	}
	if absent.endpoints > 0 {
		roles = append(roles, fmt.Sprintf("%d left out: %s", absent.endpoints, absent.because))
	}
	return strings.Join(roles, ", ")
}

// absentees are the endpoints of a cluster that the agent does not write: some of them are ready.
type absentees struct {
	endpoints, ready int
	because          choice.Reason
	// active is why the cluster's active endpoints are used although they should not be, or "".
	active choice.Reason
}

// decided sets the preference, and returns which endpoints on the broker the agent leaves out by preferences and drains, by cluster.
func (x *Explanation) decided(s *survey.Survey, service types.NamespacedName, exports []merge.Export) map[string]absentees {
	if exports = notRefused(s, service, exports); s.Broker == nil || len(exports) == 0 {
		return x.decidedHere(s, service)
	}
	input, preference := choiceOf(s, service, exports)
	x.Preference = preference
	result := choice.Decide(input)
	all := map[string]absentees{}
	for _, c := range result.Clusters {
		if c.Reason == choice.AllDrained || c.Reason == choice.AllSilent {
			all[c.Cluster.String()] = absentees{active: c.Reason}
		}
	}
	for _, c := range input.Clusters {
		for i := range c.Slices {
			slice := c.Slices[i]
			groups := result.Groups(c.ID, slice)
			for k, e := range slice.Endpoints {
				written := slices.ContainsFunc(groups, func(g choice.Group) bool { return g.Endpoints == nil || g.Endpoints[k].Role != choice.Absent })
				if written {
					continue
				}
				one := all[c.ID.String()]
				one.endpoints, one.because = one.endpoints+1, groups[0].Endpoints[k].Reason
				if state(e) == EndpointReady {
					one.ready++
				}
				all[c.ID.String()] = one
			}
		}
	}
	return all
}

// decidedHere is decided without the broker: the service's own policy applies whatever others export, and where no endpoint is ready
// but those of silent clusters, they are used.
func (x *Explanation) decidedHere(s *survey.Survey, service types.NamespacedName) map[string]absentees {
	if own, _ := policiesFor(s, service); len(own) > 0 {
		x.Preference = preferenceOf(choice.Applied{Policy: choice.Oldest(own), Preference: &choice.Oldest(own).Spec.Preference}, nil)
	}
	all := map[string]absentees{}
	for id := range s.Cluster.Silent {
		all[id] = absentees{active: choice.AllSilent}
	}
	return all
}

// onStandby counts the endpoints of a cluster that are on standby here, and those that get no connections at all, and says why.
func onStandby(list []discoveryv1.EndpointSlice, cluster string) (standby, off int, because string) {
	for _, e := range endpoints(list) {
		switch {
		case e.Cluster != cluster || e.Reason == "":
			continue
		case e.State == EndpointStandby:
			standby++
		default:
			off++
		}
		because = e.Reason
	}
	return standby, off, because
}

// ofFamilies returns the slices of the import's IP families: the cluster does not import others.
func (x *Explanation) ofFamilies(list []discoveryv1.EndpointSlice) []discoveryv1.EndpointSlice {
	if x.Import == nil || len(x.Import.families) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e discoveryv1.EndpointSlice) bool {
		return e.AddressType != "" && !slices.ContainsFunc(x.Import.families, func(f corev1.IPFamily) bool { return string(f) == string(e.AddressType) })
	})
}

// seeCondition is the reason of a source whose endpoints are missing, if the condition of the import has the reason.
const seeCondition = "some endpoints are not imported: see the finding about the ServiceImport's condition above"

// warnsOf reports whether the condition of an import in effect names a cluster: the condition then says why endpoints of the
// cluster are left out.
func (i *Import) warnsOf(cluster string) bool {
	return i != nil && i.problem == "" && strings.Contains(i.Message, strconv.Quote(cluster))
}

// leftOut adds the condition of an import in effect that leaves endpoints out.
func (x *Explanation) leftOut() {
	if slices.ContainsFunc(x.Sources, func(source Source) bool { return source.Reason == seeCondition }) {
		x.Findings.add(Warning, "import", fmt.Sprintf("Some published endpoints are not imported. The condition Ready of ServiceImport %s/%s says: %s", x.Import.Namespace, x.Import.Name, x.Import.Message), "")
	}
}

// why explains why a source has fewer ready endpoints here than it publishes.
func why(s *survey.Survey, source Source, publishedReady, readyHere int, inCondition bool) string {
	since := s.Cluster.Withdrawn[source.Cluster]
	out, _ := outside(s, source.Cluster)
	switch {
	case since != "" && source.ReadyHere == 0:
		return "withdrawn: the cluster has been unreachable since " + since
	case source.ReadyHere < readyHere:
		return fmt.Sprintf("%d ready endpoints have no port of the service", readyHere-source.ReadyHere)
	case source.ReadyHere > 0 && source.Imported+source.LeftOut >= source.Published:
		return ""
	case s.Broker == nil:
		return "unknown: the broker cannot be read"
	case source.Published == 0:
		return "the cluster publishes no endpoints: its Service selects no pods, or no pod has an address"
	case out > 0 && source.Cluster != s.ClusterID.String() && source.Imported+out >= source.Published:
		return fmt.Sprintf("%d endpoints are not imported: the broker does not permit their addresses for the exporting cluster", out)
	case source.Imported < source.Published && ownOverBudget(s, source.Cluster):
		return fmt.Sprintf("cluster %s exceeds this cluster's per-member budget, so some endpoints are not imported: export fewer services in the exporting cluster, or raise --member-budget in this cluster", source.Cluster)
	case source.Imported < source.Published && inCondition:
		return seeCondition
	case source.Imported == 0:
		return "no endpoint is imported: see the findings above and the Events of the ServiceImport"
	case publishedReady == 0:
		return "no pod is ready in the exporting cluster"
	case source.Imported < source.Published:
		return "some endpoints are not imported: they have not arrived yet, this cluster lacks their IP family, or their addresses belong to this cluster itself (see the Events of the ServiceImport)"
	}
	return "no endpoint is ready"
}

// ownOverBudget reports whether a member exceeds the queried cluster's budget.
func ownOverBudget(s *survey.Survey, member string) bool {
	return s.Broker != nil && slices.ContainsFunc(s.Broker.Members, func(m brokerv1alpha1.MemberCluster) bool {
		return m.Name == s.ClusterID.String() && slices.Contains(m.Spec.OverBudget, member)
	})
}
