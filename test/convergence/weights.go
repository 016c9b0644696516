package convergence

import (
	"cmp"
	"math"
	"slices"
	"strings"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/utils/ptr"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
)

// spot is where an endpoint listens. An address in two slices is one endpoint.
type spot struct {
	address string
	number  int32
}

// ready are the ready endpoints at a port, by cluster.
type ready map[string]map[spot]bool

// weighs reports whether weights count. They do not where zones decide.
func (v viewpoint) weighs() bool {
	return v.want != nil && len(v.want.weights) > 0 && v.imp.Spec.TrafficDistribution == nil
}

// plan is what is expected at a port.
type plan struct {
	order
	// seats are the numbers of endpoints in use of the clusters that share the traffic, nil if weights have no effect.
	seats map[string]int
}

func (v viewpoint) planOf(usable ready, rank map[string]int) plan {
	p := plan{order: v.orderOf(usable, rank)}
	if !v.weighs() {
		return p
	}
	sizes := map[string]int{}
	for id, spots := range usable {
		if rank[id] == p.best && p.isEligible(id) && v.want.weights[id] > 0 {
			sizes[id] = len(spots)
		}
	}
	if len(sizes) > 0 {
		p.seats = v.want.share(sizes)
	}
	return p
}

// active returns the number of endpoints of a cluster in use.
func (p plan) active(id string, rank, size int) int {
	switch {
	case rank != p.best || !p.isEligible(id):
		return 0
	case p.seats != nil:
		return p.seats[id]
	}
	return size
}

// tolerated is the error of a share with which the most endpoints are kept in use.
const tolerated = 0.02

// share returns how many endpoints of each cluster are in use: of all numbers, beginning with the largest, the first one whose error
// is tolerated, or else the one with the least error. Each cluster has one endpoint. The others are those with the highest quotients
// of the weight by 2k+1, if the cluster has k already (Webster).
func (want *wish) share(sizes map[string]int) map[string]int {
	type quotient struct {
		id      string
		weight  int64
		divisor int64
	}
	var all []quotient
	total := int64(0)
	for id, size := range sizes {
		weight := int64(want.weights[id])
		total += weight
		for k := 1; k < size; k++ {
			all = append(all, quotient{id, weight, int64(2*k + 1)})
		}
	}
	slices.SortFunc(all, func(a, b quotient) int {
		return cmp.Or(cmp.Compare(b.weight*a.divisor, a.weight*b.divisor), cmp.Compare(a.id, b.id), cmp.Compare(a.divisor, b.divisor))
	})
	var best map[string]int
	least := math.Inf(1)
	for n := len(all); n >= 0; n-- {
		seats := map[string]int{}
		for id := range sizes {
			seats[id] = 1
		}
		for _, q := range all[:n] {
			seats[q.id]++
		}
		off := 0.0
		for id, k := range seats {
			given := int64(n + len(sizes))
			off = max(off, math.Abs(float64(int64(k)*total-int64(want.weights[id])*given))/float64(given*total))
		}
		if off <= tolerated {
			return seats
		}
		if off < least {
			best, least = seats, off
		}
	}
	return best
}

// shareProblems checks how many endpoints of the clusters that share a port are in use, and that each has one role.
func (v viewpoint) shareProblems(f *findings, port string, usable ready, seats map[string]int, found map[served]string) {
	for id, want := range seats {
		active, standby := map[spot]bool{}, map[spot]bool{}
		for s, text := range found {
			if at := (spot{s.address, s.number}); s.cluster != id || v.list(s) != port || !usable[id][at] {
				continue
			} else if text == "standby" {
				standby[at] = true
			} else if isReady(text) {
				active[at] = true
			}
		}
		for at := range active {
			if standby[at] {
				f.add("%v of %s is in use and stands by in %s", at, id, keyOf(v.imp))
			}
		}
		if len(active) != want {
			f.add("%d endpoints of %s are in use for %s of %s, want %d: sizes %v, weights %v", len(active), id, port, keyOf(v.imp), want, sizesOf(usable), v.want.weights)
		}
	}
}

func sizesOf(usable ready) map[string]int {
	sizes := map[string]int{}
	for id, spots := range usable {
		sizes[id] = len(spots)
	}
	return sizes
}

// shareStatus returns the shares in the status of a policy for an import, and false if ports may differ.
func (w *world) shareStatus(v viewpoint) (all []trafficv1alpha1.WeightStatus, same bool) {
	_, usable := w.sources(v)
	delete(usable, "")
	if len(usable) != 1 {
		return nil, false
	}
	rank := w.ranks(v)
	for _, at := range usable {
		p, total := v.planOf(at, rank), 0
		for id, spots := range at {
			total += p.active(id, rank[id], len(spots))
		}
		for id := range rank {
			one := trafficv1alpha1.WeightStatus{Cluster: id, Active: int32(p.active(id, rank[id], len(at[id])))}
			if len(at[id]) > 0 {
				one.SharePercent = ptr.To(int32(math.Round(100 * float64(one.Active) / float64(max(total, 1)))))
			}
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b trafficv1alpha1.WeightStatus) int { return cmp.Compare(a.Cluster, b.Cluster) })
	return all, true
}

// ranks returns the groups of the exporting clusters.
func (w *world) ranks(v viewpoint) map[string]int {
	rank := map[string]int{}
	for _, e := range v.exports {
		rank[e.ClusterID] = v.want.rank(w.cluster(e.ClusterID), v.cluster)
	}
	return rank
}

// isReady reports whether written conditions are those of a ready endpoint.
func isReady(text string) bool { return strings.HasPrefix(text, "ready=true") }

func (u ready) add(s served, c discoveryv1.EndpointConditions) {
	if !ptr.Deref(c.Ready, true) {
		return
	}
	if u[s.cluster] == nil {
		u[s.cluster] = map[spot]bool{}
	}
	u[s.cluster][spot{s.address, s.number}] = true
}
