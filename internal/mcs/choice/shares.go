package choice

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// tolerance is the error of a cluster's share that is accepted to keep more endpoints active, in percent of all traffic.
const tolerance = 2

// shares returns the number of active endpoints of each cluster. Weights are above 0, and sizes, the numbers of usable
// endpoints, too.
//
// All active endpoints get the same traffic, so a cluster's share is its part of them. The most endpoints with which
// each share is within the tolerance are active; if there is no such number, the one with the least error.
//
// Seats are given by Webster's method, at least one to each cluster and at most its size. With it more seats never mean
// fewer for one cluster, which does not hold for the largest remainder.
func shares(weights []int64, sizes []int) []int {
	seats := make([]int, len(weights))
	total, given, all := int64(0), 0, 0
	for i := range weights {
		seats[i] = 1
		total += weights[i]
		given++
		all += sizes[i]
	}
	best, within := slices.Clone(seats), false
	least := errorOf(weights, seats, total, given)
	for ; ; given++ {
		off := errorOf(weights, seats, total, given)
		isWithin := off <= float64(tolerance)/100
		if isWithin || !within && off <= least {
			copy(best, seats)
			least, within = off, within || isWithin
		}
		if given == all {
			return best
		}
		seats[nextSeat(weights, seats, sizes)]++
	}
}

// errorOf returns the largest difference of a share from the wanted one, between 0 and 1. The numerator is exact.
func errorOf(weights []int64, seats []int, total int64, given int) float64 {
	largest := int64(0)
	for i := range weights {
		off := int64(seats[i])*total - weights[i]*int64(given)
		largest = max(largest, off, -off)
	}
	return float64(largest) / float64(int64(given)*total)
}

// nextSeat returns the cluster with the highest quotient weight/(2 seats + 1) that has an endpoint left, the first of
// equals.
func nextSeat(weights []int64, seats, sizes []int) int {
	next := -1
	for i := range weights {
		if seats[i] < sizes[i] && (next < 0 || weights[i]*int64(2*seats[next]+1) > weights[next]*int64(2*seats[i]+1)) {
			next = i
		}
	}
	return next
}

// highest returns the n endpoints with the highest hashes. So one more endpoint displaces at most one other, importers
// choose different ones, and the choice outlives restarts. Ports do not count, so that all ports of an endpoint have the same
// role where clusters have the same ports. The hash is SHA-256 of importer, namespace, service and address, joined by NUL
// bytes; do not change it, because all shares would move at an upgrade.
func highest(usable map[target]bool, n int, importer names.ClusterID, service types.NamespacedName) map[target]bool {
	type hashed struct {
		target
		sum [sha256.Size]byte
	}
	all := make([]hashed, 0, len(usable))
	id := []byte(importer.String() + "\x00" + service.Namespace + "\x00" + service.Name + "\x00")
	prefix := len(id)
	for t := range usable {
		id = append(id[:prefix], t.address...)
		all = append(all, hashed{t, sha256.Sum256(id)})
	}
	slices.SortFunc(all, func(a, b hashed) int {
		return cmp.Or(bytes.Compare(b.sum[:], a.sum[:]), cmp.Compare(a.address, b.address), cmp.Compare(a.port, b.port))
	})
	active := make(map[target]bool, n)
	for _, h := range all[:n] {
		active[h.target] = true
	}
	return active
}
