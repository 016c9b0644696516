package choice

import (
	"fmt"
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// largeService has 10 clusters with 10 slices of 100 endpoints each.
func largeService(policy *Policy) Service {
	s := service(policy)
	for i := range 10 {
		c := Cluster{ID: names.ClusterID(fmt.Sprintf("c%d", i))}
		for j := range 10 {
			c.Slices = append(c.Slices, slice(fmt.Sprintf("%s-%d", c.ID, j), http, slices.Repeat([]discoveryv1.EndpointConditions{ready}, 100)...))
		}
		s.Clusters = append(s.Clusters, c)
	}
	return s
}

// groupsOf decides a service and splits all its slices.
func groupsOf(s Service) (n int) {
	r := Decide(s)
	for i := range s.Clusters {
		for _, slice := range s.Clusters[i].Slices {
			n += len(r.Groups(s.Clusters[i].ID, slice))
		}
	}
	return n
}

// copied is what the least code does: it passes on each slice's ports.
func copied(s Service) (n int) {
	for i := range s.Clusters {
		for _, slice := range s.Clusters[i].Slices {
			n += len(passOn(slice))
		}
	}
	return n
}

//go:noinline
func passOn(slice *discoveryv1.EndpointSlice) []Group { return []Group{{Ports: slice.Ports}} }

// BenchmarkUndecided measures a service with nothing to decide, and its ratio to a copy that decides nothing.
func BenchmarkUndecided(b *testing.B) {
	s := largeService(nil)
	var decide, noop time.Duration
	for b.Loop() {
		start := time.Now()
		groupsOf(s)
		middle := time.Now()
		copied(s)
		decide, noop = decide+middle.Sub(start), noop+time.Since(middle)
	}
	b.ReportMetric(float64(decide)/float64(noop), "ratio")
}

func BenchmarkDecided(b *testing.B) {
	weights := &Policy{}
	for i := range 10 {
		weights.Weights = append(weights.Weights, Weight{Cluster: names.ClusterID(fmt.Sprintf("c%d", i)), Weight: int32(i + 1)})
	}
	prefer, drain := largeService(&Policy{Selectors: near}), largeService(nil)
	drain.Clusters[0].Drained = true
	for name, s := range map[string]Service{"prefer": prefer, "drain": drain, "weights": largeService(weights)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				groupsOf(s)
			}
		})
	}
}

// TestUndecidedSharesInput checks that a service with nothing to decide costs no more than one allocation for each
// slice, whatever its number of endpoints.
func TestUndecidedSharesInput(t *testing.T) {
	s := largeService(&Policy{Fallback: FallbackToNone})
	if got := testing.AllocsPerRun(10, func() { groupsOf(s) }); got > 100 {
		t.Errorf("%.0f allocations for 100 slices", got)
	}
	first := s.Clusters[0].Slices[0]
	r := Decide(s)
	if g := r.Groups("c0", first); r.Clusters != nil || g[0].Endpoints != nil || &g[0].Ports[0] != &first.Ports[0] {
		t.Errorf("the input is not shared: %v", g)
	}
}
