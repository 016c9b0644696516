package controllers

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Slices sums up, for each K, what became of its EndpointSlices, each of which is reconciled by itself. The zero value knows of none.
type Slices[K comparable] struct {
	mu sync.Mutex
	of map[K]*slicesOf
}

// slicesOf are the slices of one K, by the names of their sources.
type slicesOf struct {
	times   int                  // how often Begin was called
	round   int                  // with which it was called last
	untried map[string]bool      // that have not been reconciled since Begin
	pending map[string]bool      // with a change that may not be written yet
	going   map[string]time.Time // since when they are to lose their endpoints because their sources are gone
	results map[string]SliceResult
	general []status.Remark
}

// SliceResult is what there is to say of one slice.
type SliceResult struct {
	// Err is why it could not be written.
	Err error
	// Refused is how much is left out of it, and First what of that comes first.
	Refused int
	First   string
	// Remarks are other things that people should know.
	Remarks []status.Remark
}

func (r SliceResult) empty() bool { return r.Err == nil && r.Refused == 0 && len(r.Remarks) == 0 }

// Leaves returns a result for what validation leaves out of a slice.
func Leaves(refused []validation.Refused) SliceResult {
	if len(refused) == 0 {
		return SliceResult{}
	}
	return SliceResult{Refused: len(refused), First: validation.Summary(refused)}
}

// get is called with mu held.
func (s *Slices[K]) get(key K) *slicesOf {
	if s.of[key] == nil {
		if s.of == nil {
			s.of = map[K]*slicesOf{}
		}
		s.of[key] = &slicesOf{untried: map[string]bool{}, pending: map[string]bool{}, going: map[string]time.Time{}, results: map[string]SliceResult{}}
	}
	return s.of[key]
}

// Begin has a K wait for all of its slices to be reconciled, these, and notes remarks about the K as a whole. Results of other slices are dropped.
// round is that of status.Progress, if any, in which the caller has read what slices there are.
func (s *Slices[K]) Begin(key K, names map[string]bool, general []status.Remark, round int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.get(key)
	of.round, of.general = round, general
	of.times++
	of.untried = maps.Clone(names)
	maps.DeleteFunc(of.results, func(name string, _ SliceResult) bool { return !of.untried[name] })
}

// Times is how often Begin was called for a K. Whoever reconciles a slice takes it before he reads anything, for Done.
func (s *Slices[K]) Times(key K) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if of := s.of[key]; of != nil {
		return of.times
	}
	return 0
}

// Queued notes that a slice is going to be reconciled because it has changed.
func (s *Slices[K]) Queued(key K, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.get(key).pending[name] = true
}

// Remarked tells whether Begin noted remarks about a K.
func (s *Slices[K]) Remarked(key K) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[key]
	return of != nil && len(of.general) > 0
}

const (
	// goingWait is how long a slice whose source is gone keeps its endpoints at most: they may have moved to another slice of the Service, which
	// is written first.
	goingWait = time.Second
	// goingPause is how long to wait before looking again.
	goingPause = 20 * time.Millisecond
)

// MayGo returns 0 where a slice may lose its endpoints because its source is gone, or how long to wait before asking again, as long as changes of
// other slices of the K are not written, or not all of them have been reconciled since Begin, or Begin has not been called yet: after a restart
// nothing is queued because it has changed.
func (s *Slices[K]) MayGo(key K, name string, now time.Time) (wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.get(key)
	if of.going[name].IsZero() {
		of.going[name] = now
	}
	if now.Sub(of.going[name]) >= goingWait || of.times > 0 && !of.others(of.pending) && !of.others(of.untried) {
		return 0
	}
	return goingPause
}

// others tells whether any of these slices is not going: those that go do not wait for each other.
func (of *slicesOf) others(names map[string]bool) bool {
	for name := range names {
		if of.going[name].IsZero() {
			return true
		}
	}
	return false
}

// Done notes what became of a slice, which was begun when Times was the given one.
func (s *Slices[K]) Done(key K, name string, times int, result SliceResult) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.get(key)
	if times == of.times {
		delete(of.untried, name)
	}
	delete(of.going, name)
	if delete(of.pending, name); result.empty() {
		delete(of.results, name)
	} else {
		of.results[name] = result
	}
	if of.times == 0 && len(of.pending)+len(of.going)+len(of.results) == 0 {
		delete(s.of, key)
	}
}

// Forget has nothing known of a K.
func (s *Slices[K]) Forget(key K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.of, key)
}

// SlicesSummary is what there is to say of all slices of a K.
type SlicesSummary struct {
	// Err is why slices could not be written: that of the first one, and how many more there are.
	Err error
	// Refused is how much is left out of all slices, and First says what comes first and how much more there is.
	Refused int
	First   string
	// Remarks are those of the K, and of its slices one for each reason, sorted by reason.
	Remarks []status.Remark
	// Round is that of the last Begin.
	Round int
}

// Summary sums up what is known of a K, and tells whether all of its slices have been reconciled since Begin.
func (s *Slices[K]) Summary(key K) (sum SlicesSummary, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.of[key]
	if of == nil {
		return sum, false
	}
	sum.Remarks, sum.Round = slices.Clone(of.general), of.round
	failed := 0
	for _, name := range slices.Sorted(maps.Keys(of.results)) {
		r := of.results[name]
		if r.Err != nil {
			failed++
			sum.Err = cmp.Or(sum.Err, r.Err)
		}
		sum.Refused, sum.First = sum.Refused+r.Refused, cmp.Or(sum.First, r.First)
		for _, remark := range r.Remarks {
			if !slices.ContainsFunc(sum.Remarks, func(other status.Remark) bool { return other.Reason == remark.Reason }) {
				sum.Remarks = append(sum.Remarks, remark)
			}
		}
	}
	if sum.Refused > 1 {
		first, _, _ := strings.Cut(sum.First, "; and ")
		sum.First = fmt.Sprintf("%s; and %d more", first, sum.Refused-1)
	}
	if failed > 1 {
		sum.Err = fmt.Errorf("%w (and %d more)", sum.Err, failed-1)
	}
	slices.SortStableFunc(sum.Remarks, func(a, b status.Remark) int { return cmp.Compare(a.Reason, b.Reason) })
	return sum, of.times > 0 && len(of.untried) == 0
}

// Counts returns how much is left out of the slices of each K.
func (s *Slices[K]) Counts() map[K]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	counts := map[K]int{}
	for key, of := range s.of {
		for _, r := range of.results {
			counts[key] += r.Refused
		}
	}
	return counts
}
