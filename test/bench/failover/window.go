package failover

import (
	"slices"
	"time"
)

const (
	// window is the time over which requests are counted.
	window = 250 * time.Millisecond
	// tolerated is the part of a window's requests that may be bad.
	tolerated = 0.01
)

// leftAfter returns how long after since the windows in which 1 % of the requests or more are bad last: the start of the last of
// them. Windows begin with each bad request.
func leftAfter(requests []request, since time.Time, bad func(request) bool) (took time.Duration) {
	requests = slices.DeleteFunc(slices.Clone(requests), func(r request) bool { return r.at.Before(since) })
	slices.SortFunc(requests, func(a, b request) int { return a.at.Compare(b.at) })
	end, inWindow := 0, 0
	for i, r := range requests {
		for ; end < len(requests) && requests[end].at.Before(r.at.Add(window)); end++ {
			if bad(requests[end]) {
				inWindow++
			}
		}
		if !bad(r) {
			continue
		}
		if float64(inWindow) >= tolerated*float64(end-i) {
			took = r.at.Sub(since)
		}
		inWindow--
	}
	return took
}

// count returns how many requests are of a kind.
func count(requests []request, of func(request) bool) (n int) {
	for _, r := range requests {
		if of(r) {
			n++
		}
	}
	return n
}
