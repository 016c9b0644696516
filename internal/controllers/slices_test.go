package controllers

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/status"
)

// What is said of a service waits for all of its slices, and goes with them.
func TestSlicesAreSummedUp(t *testing.T) {
	var s Slices[string]
	expect := func(when string, want SlicesSummary, all bool) {
		t.Helper()
		got, gotAll := s.Summary("web")
		text := func(err error) string {
			if err == nil {
				return ""
			}
			return err.Error()
		}
		if text(got.Err) != text(want.Err) || gotAll != all {
			t.Errorf("%s: error %v, all %t; want %v, %t", when, got.Err, gotAll, want.Err, all)
		}
		got.Err, want.Err = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", when, diff)
		}
	}
	expect("of one that is unknown", SlicesSummary{}, false)
	s.Done("web", "a", s.Times("web"), SliceResult{Err: errors.New("no")})
	expect("before all are tried", SlicesSummary{Err: errors.New("no")}, false)
	general := []status.Remark{{Reason: "Z"}}
	s.Begin("web", map[string]bool{"b": true, "c": true, "d": true}, general, 3) // and not a
	expect("begun", SlicesSummary{Remarks: general, Round: 3}, false)
	s.Done("web", "b", s.Times("web"), SliceResult{Err: errors.New("b fails")})
	s.Done("web", "d", s.Times("web"), SliceResult{Err: errors.New("d fails"), Remarks: []status.Remark{{Reason: "A", Message: "of d"}}})
	expect("one is not tried", SlicesSummary{Err: errors.New("b fails (and 1 more)"), Remarks: []status.Remark{{Reason: "A", Message: "of d"}, {Reason: "Z"}}, Round: 3}, false)
	s.Done("web", "b", s.Times("web"), SliceResult{Remarks: []status.Remark{{Reason: "A", Message: "of b"}}})
	s.Done("web", "c", s.Times("web"), Leaves([]validation.Refused{{Part: "x", Reason: "is bad"}, {Part: "y", Reason: "is bad"}}))
	s.Done("web", "d", s.Times("web"), Leaves([]validation.Refused{{Part: "z", Reason: "is bad"}}))
	expect("all are", SlicesSummary{Refused: 3, First: "x: is bad; and 2 more", Remarks: []status.Remark{{Reason: "A", Message: "of b"}, {Reason: "Z"}}, Round: 3}, true)
	if got := s.Counts(); got["web"] != 3 || !s.Remarked("web") || s.Remarked("db") {
		t.Errorf("counts %v", got)
	}
	s.Begin("web", map[string]bool{"b": true}, nil, 4)
	s.Done("web", "b", s.Times("web"), SliceResult{})
	expect("all is well", SlicesSummary{Round: 4}, true)
	times := s.Times("web")
	s.Begin("web", map[string]bool{"b": true}, nil, 5)
	s.Done("web", "b", times, SliceResult{})
	expect("what was begun before does not count", SlicesSummary{Round: 5}, false)
	s.Forget("web")
	s.Queued("db", "a")
	s.Done("db", "a", s.Times("db"), SliceResult{})
	if len(s.of) > 0 {
		t.Errorf("remembered: %v", s.of)
	}
}

// Endpoints may have moved to another slice, which is written before theirs goes; but nothing waits for long.
func TestSlicesThatGoWaitForOthers(t *testing.T) {
	var s Slices[string]
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if s.MayGo("web", "old", now) == 0 {
		t.Error("it does not wait until it is known which slices there are")
	}
	s.Begin("web", nil, nil, 0)
	s.Begin("db", nil, nil, 0)
	if wait := s.MayGo("web", "old", now); wait != 0 {
		t.Errorf("it waits %v for nothing", wait)
	}
	s.Queued("web", "new")
	s.Queued("web", "old")
	s.Queued("web", "older")
	if wait := s.MayGo("web", "older", now); wait == 0 {
		t.Error("it does not wait")
	}
	if wait := s.MayGo("web", "old", now); wait == 0 {
		t.Error("it does not wait for what is new")
	}
	if wait := s.MayGo("web", "old", now.Add(goingWait)); wait != 0 {
		t.Errorf("it still waits %v", wait)
	}
	s.Done("web", "new", s.Times("web"), SliceResult{})
	if wait := s.MayGo("web", "older", now); wait != 0 {
		t.Errorf("two that go wait %v for each other", wait)
	}
	if wait := s.MayGo("db", "old", now); wait != 0 {
		t.Errorf("it waits %v for another service's", wait)
	}
	s.Begin("shop", map[string]bool{"old": true, "older": true, "new": true}, nil, 0)
	if s.MayGo("shop", "old", now) == 0 || s.MayGo("shop", "older", now) == 0 {
		t.Error("it does not wait for what has not been reconciled")
	}
	s.Done("shop", "new", s.Times("shop"), SliceResult{})
	if wait := s.MayGo("shop", "old", now); wait != 0 {
		t.Errorf("it waits %v for one that goes too", wait)
	}
}
