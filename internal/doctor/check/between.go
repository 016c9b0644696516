package check

import (
	"fmt"
	"slices"
	"strings"
)

// between makes the checks between clusters: the queried ones, and the other members in their own descriptions on the
// broker.
func between(e *Evidence, all *Results) {
	var there []*Cluster
	for i := range e.Clusters {
		if c := &e.Clusters[i]; c.Unreached == nil && !e.OnlyBroker(c) {
			there = append(there, &e.Clusters[i])
		}
	}
	ranges(there, all)
	versions(there, all)
	if len(there) < 2 {
		return
	}
	identities(there, all)
	timesOfDay(there, all)
	for _, from := range there {
		for _, to := range there {
			if from != to {
				p := pair{from, to, all}
				p.families()
				p.connections()
			}
		}
	}
}

// identities checks that the clusters have different IDs and share a clusterset.
func identities(there []*Cluster, all *Results) {
	result, set := Result{Status: OK}, Result{Status: OK}
	for i, a := range there {
		for _, b := range there[:i] {
			switch {
			case a.UID == b.UID:
				result.Status, result.Message = Error, fmt.Sprintf("contexts %s and %s belong to the same cluster", b.Context, a.Context)
				result.Hint = "Name contexts of different clusters."
			case a.ID() != "" && a.ID() == b.ID():
				result.Status, result.Message = Error, fmt.Sprintf("contexts %s and %s are different clusters with the same cluster id %s", b.Context, a.Context, a.ID())
				result.Hint = fmt.Sprintf("Change the id of one cluster. First remove the cluster from the clusterset, which withdraws its exports and deletes its imports: %s. Then join it with a join file for the new id: %s", a.On.Atoll("leave"), a.On.Atoll("join FILE"))
			}
			if a.member() && b.member() && (a.Survey.Clusterset != b.Survey.Clusterset || a.Survey.Server != b.Survey.Server) {
				set.Status = Error
				set.Message = fmt.Sprintf("cluster %s is in clusterset %s on broker %s, but cluster %s is in clusterset %s on broker %s", b.Name, b.Survey.Clusterset, b.Survey.Server, a.Name, a.Survey.Clusterset, a.Survey.Server)
				set.Hint = "Clusters share services only within one clusterset. If the two URLs belong to the same broker, ignore this error. Otherwise, let one cluster leave its clusterset and join the other clusterset."
			}
		}
	}
	all.add(Identity, result)
	if !slices.ContainsFunc(there, func(c *Cluster) bool { return !c.member() }) {
		all.add(Clusterset, set)
	}
}

func timesOfDay(there []*Cluster, all *Results) {
	worst := Result{Status: OK}
	for i, a := range there {
		for _, b := range there[:i] {
			status, hint, message := clocks(a.Ahead-b.Ahead, "cluster "+a.Name, "cluster "+b.Name)
			if status == Error || status == Warning && worst.Status == OK {
				worst.Status, worst.Hint, worst.Message = status, hint, message
			}
		}
	}
	all.add(Clocks, worst)
}

func versions(there []*Cluster, all *Results) {
	by := map[string][]string{}
	for _, c := range there {
		if c.Survey == nil || c.Survey.Broker == nil {
			continue
		}
		for _, m := range c.Survey.Broker.Members {
			if v := m.Spec.AgentVersion; v != "" && !slices.Contains(by[v], m.Name) {
				by[v] = append(by[v], m.Name)
			}
		}
	}
	if len(by) == 0 {
		return
	}
	result := Result{Status: OK}
	var texts []string
	for version, clusters := range by {
		slices.Sort(clusters)
		texts = append(texts, fmt.Sprintf("Atoll %s runs in %s", version, list(clusters)))
	}
	slices.Sort(texts)
	if len(by) > 1 {
		result.Status, result.Hint = Warning, "The clusters work together, but features of the newer version have no effect in clusters with the older version. Upgrade Atoll in the older clusters."
	}
	result.Message = strings.Join(texts, "; ")
	all.add(Versions, result)
}
