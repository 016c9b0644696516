package choice

import (
	"fmt"
	"math/rand"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// drawService draws from few values, so that clusters often share groups and addresses are often in two slices.
func drawService(t *rapid.T) Service {
	s := service(rapid.SampledFrom([]*Policy{nil, {Selectors: near}, {Selectors: near, Fallback: FallbackToNone}, {Selectors: near[1:]}, {}}).Draw(t, "policy"))
	s.Headless = rapid.IntRange(0, 4).Draw(t, "headless") == 0
	if s.Policy != nil && rapid.Bool().Draw(t, "weighted") {
		weighted := *s.Policy
		for _, id := range []names.ClusterID{"c1", "c2", "c3", "c4"} {
			if rapid.Bool().Draw(t, "listed") {
				weighted.Weights = append(weighted.Weights, Weight{Cluster: id, Weight: rapid.SampledFrom([]int32{0, 1, 3, 10}).Draw(t, "weight")})
			}
		}
		s.Policy = &weighted
	}
	for _, id := range []names.ClusterID{"c1", "c2", "c3", "c4"} {
		if rapid.IntRange(0, 4).Draw(t, "exports") == 0 {
			continue
		}
		c := cluster(id, rapid.SampledFrom([]string{"eu", "us"}).Draw(t, "region"), nil)
		c.Drained = rapid.IntRange(0, 2).Draw(t, "drained") == 0
		c.Silent = rapid.IntRange(0, 2).Draw(t, "silent") == 0
		c.Slices = nil
		for i := range rapid.IntRange(0, 3).Draw(t, "slices") {
			c.Slices = append(c.Slices, drawSlice(t, fmt.Sprintf("%s-%d", id, i), id.String()))
		}
		s.Clusters = append(s.Clusters, c)
	}
	return s
}

func drawSlice(t *rapid.T, name, addresses string) *discoveryv1.EndpointSlice {
	ports := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"dns/UDP/53", "http/TCP/80", "admin/TCP/81"}), 0, 3, rapid.ID).Draw(t, "ports")
	conditions := rapid.SliceOfN(rapid.SampledFrom([]discoveryv1.EndpointConditions{ready, ready, unready, terminating, {}}), 0, 5).Draw(t, "conditions")
	s := slice(addresses, ports, conditions...)
	s.Name = name
	s.AddressType = rapid.SampledFrom([]discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}).Draw(t, "family")
	return s
}

// shuffled returns a copy with all lists in another order, except those of the policy.
func shuffled(s Service, random *rand.Rand) Service {
	mix := func(n int, swap func(i, j int)) { random.Shuffle(n, swap) }
	s.Clusters = slices.Clone(s.Clusters)
	mix(len(s.Clusters), func(i, j int) { s.Clusters[i], s.Clusters[j] = s.Clusters[j], s.Clusters[i] })
	for i := range s.Clusters {
		all := slices.Clone(s.Clusters[i].Slices)
		for k := range all {
			all[k] = all[k].DeepCopy()
			e, p := all[k].Endpoints, all[k].Ports
			mix(len(e), func(i, j int) { e[i], e[j] = e[j], e[i] })
			mix(len(p), func(i, j int) { p[i], p[j] = p[j], p[i] })
		}
		mix(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		s.Clusters[i].Slices = all
	}
	return s
}

func TestOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawService(t)
		other := shuffled(s, rand.New(rand.NewSource(rapid.Int64().Draw(t, "seed"))))
		if diff := cmp.Diff(written(s), written(other)); diff != "" {
			t.Fatal(diff)
		}
		a, b := Decide(s), Decide(other)
		if diff := cmp.Diff([]any{a.Clusters, a.Ports, a.SelectorResults}, []any{b.Clusters, b.Ports, b.SelectorResults}); diff != "" {
			t.Fatal(diff)
		}
	})
}

// at is an endpoint as it is written for one port.
type at struct {
	port       string // family, name and protocol
	cluster    names.ClusterID
	address    string
	source     discoveryv1.EndpointConditions
	conditions discoveryv1.EndpointConditions
	Decision
}

// proxied returns what kube-proxy reads if an agent writes the groups. It fails if a group has no consistent names, or
// a port is in two.
func proxied(t *rapid.T, s Service) (all []at) {
	r := Decide(s)
	for _, c := range s.Clusters {
		for _, slice := range c.Slices {
			groups := r.Groups(c.ID, slice)
			suffixes, seen := sets.New[string](), 0
			for i, g := range groups {
				if suffixes.Has(g.Suffix) || (g.Suffix == "") != (i == 0) {
					t.Fatalf("suffix %q of group %d", g.Suffix, i)
				}
				suffixes.Insert(g.Suffix)
				seen += len(g.Ports)
				all = append(all, writeGroup(c.ID, slice, g)...)
			}
			ports := sets.New[string]()
			for _, g := range groups {
				for _, p := range g.Ports {
					ports.Insert(*p.Name + string(*p.Protocol))
				}
			}
			if seen != len(slice.Ports) || ports.Len() != seen {
				t.Fatalf("%d ports become %d in the groups, %v", len(slice.Ports), seen, ports)
			}
		}
	}
	return all
}

func writeGroup(cluster names.ClusterID, slice *discoveryv1.EndpointSlice, g Group) (all []at) {
	for i, e := range slice.Endpoints {
		d := Decision{}
		if g.Endpoints != nil {
			d = g.Endpoints[i]
		}
		ports := []string{}
		for _, p := range g.Ports {
			ports = append(ports, *p.Name+" "+string(*p.Protocol))
		}
		if len(ports) == 0 { // for DNS of headless services
			ports = []string{""}
		}
		for _, port := range ports {
			all = append(all, at{fmt.Sprintf("%s %s", slice.AddressType, port), cluster, e.Addresses[0], e.Conditions, d.Role.Conditions(e.Conditions), d})
		}
	}
	return all
}

// isServed is whether kube-proxy would use an endpoint: an unset condition means ready.
func isServed(c discoveryv1.EndpointConditions) bool { return ptr.Deref(c.Ready, true) }

// TestUsableIsWrittenReady: wherever a usable endpoint exists that is not forbidden, one is written ready, and no
// endpoint that is not usable becomes ready.
func TestUsableIsWrittenReady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawService(t)
		isForbidden := map[names.ClusterID]bool{}
		for _, c := range s.Clusters {
			isForbidden[c.ID] = !s.Headless && s.Policy != nil && s.Policy.Fallback == FallbackToNone &&
				c.ID != "c1" && c.Properties["region"] != "eu"
		}
		usable, served := map[string]bool{}, map[string]bool{}
		for _, e := range proxied(t, s) {
			port := e.port
			if s.Headless {
				port = port[:4] // DNS answers by family
			}
			usable[port] = usable[port] || isServed(e.source) && !isForbidden[e.cluster]
			isWritten := e.Role != Absent && isServed(e.conditions)
			served[port] = served[port] || isWritten
			if isForbidden[e.cluster] && e.Role != Absent {
				t.Fatalf("%v is written, but is forbidden", e)
			}
			if isWritten && !isServed(e.source) {
				t.Fatalf("%v is written ready, but is not usable", e)
			}
		}
		if diff := cmp.Diff(usable, served); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestStandbyIsBehindActive: standby endpoints have no hints, and stand by only for ready ones of the same port. Nothing
// that really terminates is in the same set.
func TestStandbyIsBehindActive(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawService(t)
		all := proxied(t, s)
		for _, e := range all {
			if e.Role != Standby && e.Role != Off || s.Headless {
				continue
			}
			if e.Role.MayHaveHints() {
				t.Fatalf("%v may have hints", e)
			}
			if !slices.ContainsFunc(all, func(o at) bool { return o.port == e.port && o.Role == Active }) {
				t.Fatalf("nothing is active beside %v", e)
			}
			if e.Role == Standby && slices.ContainsFunc(all, func(o at) bool {
				return o.port == e.port && o.Role == Unchanged && ptr.Deref(o.conditions.Serving, false) && ptr.Deref(o.conditions.Terminating, false)
			}) {
				t.Fatalf("an endpoint that terminates is used beside %v", e)
			}
		}
	})
}

// TestOmitStandby: without standby, the same endpoints are active, and those that would stand by or be off are not written,
// but for headless services, whose names need them.
func TestOmitStandby(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawService(t)
		roles := func() (all []string) {
			for _, e := range proxied(t, s) {
				if s.Headless && (e.Role == Absent || e.Role == Off && e.Reason != Terminating) {
					t.Fatalf("%v has no name", e)
				}
				if !s.Headless && (e.Role == Standby || e.Role == Off) {
					if s.OmitStandby {
						t.Fatalf("%v is written", e)
					}
					e.Role = Absent
				}
				if e.Role != Absent {
					all = append(all, fmt.Sprint(e.port, e.cluster, e.address, e.Role, e.Reason))
				}
			}
			slices.Sort(all)
			return all
		}
		with := roles()
		s.OmitStandby = true
		if diff := cmp.Diff(with, roles()); diff != "" {
			t.Fatal(diff)
		}
	})
}

// TestSameAddressSameRole: usable copies of an endpoint in two slices have one role.
func TestSameAddressSameRole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		roles := map[string]Role{}
		for _, e := range proxied(t, drawService(t)) {
			key := fmt.Sprint(e.port, e.cluster, e.address)
			if role, known := roles[key]; isServed(e.source) && known && role != e.Role {
				t.Fatalf("%v has also role %s", e, role)
			} else if isServed(e.source) {
				roles[key] = e.Role
			}
		}
	})
}

// drawWeights draws k clusters' weights, each at least the given part of the total, in percent.
func drawWeights(t *rapid.T, least int64) (weights []int64, total int64) {
	weights = rapid.SliceOfN(rapid.Int64Range(least, 100), 1, 5).Draw(t, "weights")
	for _, w := range weights {
		total += w
	}
	for _, w := range weights {
		if w*100 < least*total {
			t.Skip("a weight is too small")
		}
	}
	return weights, total
}

// TestSharesAreWithinTolerance: each share is within 2 points if a cluster with part p of the weights has at least 50 p
// + 1 endpoints, p ≥ 2 % for all, and p (k-2) ≤ 1 with k clusters. Proof: with 50 seats Webster's method is off by at
// most 1/2 + p (k-2)/2 ≤ 1 seat, so neither the size nor the least seat binds, and one of 50 is 2 points.
func TestSharesAreWithinTolerance(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights, total := drawWeights(t, 2)
		sizes := make([]int, len(weights))
		for i, w := range weights {
			if w*int64(len(weights)-2) > total {
				t.Skip("one weight is too large")
			}
			sizes[i] = int((50*w+total-1)/total) + 1 + rapid.IntRange(0, 40).Draw(t, "more")
		}
		seats, given := shares(weights, sizes), 0
		for _, n := range seats {
			given += n
		}
		for i, w := range weights {
			share, wanted := 100*float64(seats[i])/float64(given), 100*float64(w)/float64(total)
			if share > wanted+2.000001 || share < wanted-2.000001 || seats[i] < 1 || seats[i] > sizes[i] {
				t.Fatalf("weights %v sizes %v: seats %v: share %.1f, wanted %.1f", weights, sizes, seats, share, wanted)
			}
		}
	})
}

// TestSharesAreMonotone: one more endpoint takes no active endpoint from its cluster if the cluster had one beyond its
// share, or if the number of all active endpoints is given. Otherwise it may: with weights 2, 20 and 4, and 2, 27 and
// 27 endpoints, 35 are active, 2, 27 and 6. With a 28th endpoint of the second cluster, 35 would be 2, 28 and 5, and
// 3 points off, so 33 are active, 2, 26 and 5.
func TestSharesAreMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights, _ := drawWeights(t, 1)
		sizes, all := make([]int, len(weights)), 0
		for i := range weights {
			sizes[i] = rapid.IntRange(1, 60).Draw(t, "size")
			all += sizes[i]
		}
		given := rapid.IntRange(len(weights), all).Draw(t, "given")
		before, seatsBefore := shares(weights, sizes), seatsOf(weights, sizes, given)
		i := rapid.IntRange(0, len(sizes)-1).Draw(t, "grows")
		sizes[i]++
		after, seatsAfter := shares(weights, sizes), seatsOf(weights, sizes, given)
		if before[i] < sizes[i]-1 && after[i] < before[i] {
			t.Fatalf("weights %v: cluster %d has now %d endpoints, seats were %v and are %v", weights, i, sizes[i], before, after)
		}
		if seatsAfter[i] < seatsBefore[i] {
			t.Fatalf("weights %v: cluster %d has now %d endpoints, of %d seats it had %d and has %d", weights, i, sizes[i], given, seatsBefore[i], seatsAfter[i])
		}
	})
}

// seatsOf gives a number of seats.
func seatsOf(weights []int64, sizes []int, n int) []int {
	seats := slices.Repeat([]int{1}, len(weights))
	for range n - len(weights) {
		seats[nextSeat(weights, seats, sizes)]++
	}
	return seats
}

// TestChangesAreFew: one endpoint more changes no more roles of other endpoints than shares move, and one.
func TestChangesAreFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights, _ := drawWeights(t, 10)
		policy := &Policy{}
		var clusters []Cluster
		for i, w := range weights {
			id := names.ClusterID(fmt.Sprintf("c%d", i))
			policy.Weights = append(policy.Weights, Weight{Cluster: id, Weight: int32(w)})
			clusters = append(clusters, cluster(id, "eu", http, slices.Repeat([]discoveryv1.EndpointConditions{ready}, rapid.IntRange(10, 60).Draw(t, "size"))...))
		}
		active := func() (map[string]bool, []ClusterResult) {
			set, s := map[string]bool{}, service(policy, clusters...)
			for _, e := range proxied(t, s) {
				set[e.address] = e.Role == Active
			}
			r := Decide(s)
			return set, r.Clusters
		}
		before, resultBefore := active()
		grown := clusters[rapid.IntRange(0, len(clusters)-1).Draw(t, "grows")].Slices[0]
		grown.Endpoints = append(grown.Endpoints, discoveryv1.Endpoint{Addresses: []string{"new"}, Conditions: ready})
		after, resultAfter := active()
		changed, moved := 0, 0
		for address, was := range before {
			if after[address] != was {
				changed++
			}
		}
		for i := range resultBefore {
			moved += max(resultAfter[i].Active-resultBefore[i].Active, resultBefore[i].Active-resultAfter[i].Active)
		}
		if changed > moved+1 || changed > mostChanges {
			t.Fatalf("weights %v: %d roles change, %d seats move", weights, changed, moved)
		}
	})
}

// mostChanges bounds the other endpoints' roles that one more endpoint changes, if each weight is at least 10 % and each
// cluster has at least 10 endpoints. The fewest endpoints allow 1/(10 % - 2 %) = 12.5 more.
const mostChanges = 14

// TestInputIsNotChanged: slices are shared with a cache.
func TestInputIsNotChanged(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := drawService(t)
		before := shuffled(s, rand.New(rand.NewSource(0)))
		want := shuffled(s, rand.New(rand.NewSource(0)))
		written(before)
		if diff := cmp.Diff(want, before); diff != "" {
			t.Fatal(diff)
		}
	})
}
