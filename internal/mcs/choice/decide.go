package choice

import (
	"math"
	"slices"
)

// decider decides a service's ports, one at a time.
type decider struct {
	*Service
	groups  []int   // of each cluster
	weights []int64 // of each cluster, nil without weights
	hasUDP  bool
}

// order is what a port's clusters are compared with.
type order struct {
	// avoidSilent and avoidDrained are set if there are other usable endpoints.
	avoidSilent, avoidDrained bool
	// preferred is the first group with an eligible endpoint, and next the first one behind it; none if there is none.
	preferred, next int
}

const none = math.MaxInt

// decide sets the role of each cluster at a port.
func (d *decider) decide(port *portState) {
	o := d.orderOf(port)
	port.hasActive = o.preferred != none
	for i := range d.Clusters {
		port.clusters[i].Decision = d.decideCluster(i, len(port.clusters[i].usable) > 0, o)
	}
	if d.weights != nil {
		d.share(port)
	}
}

// orderOf avoids silent clusters first: a drained cluster that answers is better than a cluster that does not.
func (d *decider) orderOf(port *portState) order {
	var usable []int
	for i := range d.Clusters {
		if d.groups[i] != forbidden && len(port.clusters[i].usable) > 0 {
			usable = append(usable, i)
		}
	}
	o := order{preferred: none, next: none}
	o.avoidSilent = slices.ContainsFunc(usable, func(i int) bool { return !d.Clusters[i].Silent })
	o.avoidDrained = slices.ContainsFunc(usable, func(i int) bool { return !o.isSilent(&d.Clusters[i]) && !d.Clusters[i].Drained })
	eligible := slices.DeleteFunc(usable, func(i int) bool { return !o.isEligible(&d.Clusters[i]) })
	for _, i := range eligible {
		o.preferred = min(o.preferred, d.groups[i])
	}
	for _, i := range eligible {
		if d.groups[i] > o.preferred {
			o.next = min(o.next, d.groups[i])
		}
	}
	return o
}

func (o order) isSilent(c *Cluster) bool   { return o.avoidSilent && c.Silent }
func (o order) isDrained(c *Cluster) bool  { return o.avoidDrained && c.Drained }
func (o order) isEligible(c *Cluster) bool { return !o.isSilent(c) && !o.isDrained(c) }

func (d *decider) decideCluster(i int, isUsable bool, o order) Decision {
	c := &d.Clusters[i]
	switch {
	case d.groups[i] == forbidden:
		return Decision{Absent, FallbackNone}
	case d.groups[i] > o.next:
		return Decision{Absent, BehindPreferred}
	case !isUsable:
		return Decision{Unchanged, NotReady}
	case o.isSilent(c) && d.hasUDP && !d.Headless:
		return Decision{Off, Silent}
	case o.isSilent(c):
		return Decision{Standby, Silent}
	case o.isDrained(c):
		return Decision{Standby, Drained}
	case d.groups[i] > o.preferred:
		return Decision{Standby, BehindPreferred}
	case c.Silent:
		return Decision{Active, AllSilent}
	case c.Drained:
		return Decision{Active, AllDrained}
	}
	return Decision{Active, Preferred}
}

// share demotes the endpoints of active clusters beyond their weights. Clusters without weight stand by. Weights are
// ignored if no active cluster has one above 0.
func (d *decider) share(port *portState) {
	var members []int
	var weights []int64
	var sizes []int
	total := int64(0)
	for i := range port.clusters {
		if c := &port.clusters[i]; c.Role == Active && d.weights[i] > 0 {
			members, weights, sizes = append(members, i), append(weights, d.weights[i]), append(sizes, len(c.usable))
			total += d.weights[i]
		}
	}
	if len(members) == 0 {
		return
	}
	for i := range port.clusters {
		switch c := &port.clusters[i]; {
		case c.Role != Active || d.weights[i] > 0:
		case d.weights[i] == unlisted:
			c.Decision = Decision{Standby, NoWeight}
		default:
			c.Decision = Decision{Standby, ZeroWeight}
		}
	}
	for j, seats := range shares(weights, sizes) {
		c := &port.clusters[members[j]]
		c.wanted = 100 * float64(weights[j]) / float64(total)
		if seats < len(c.usable) {
			c.active = highest(c.usable, seats, d.Importer, d.Name)
		}
	}
}
