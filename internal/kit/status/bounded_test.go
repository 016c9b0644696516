package status

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/events"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// The Events about a member are limited in total and do not reduce the limit of other members.
// A final Event reports the dropped Events.
func TestEventsOfOneMemberAreBounded(t *testing.T) {
	const many = 10 * eventsOfMember
	to := events.NewFakeRecorder(2 * many)
	now := time.Unix(0, 0)
	b := NewBounded(to, func() time.Time { return now })
	say := func(member names.ClusterID) {
		SayOf(b, member, &corev1.Namespace{}, nil, corev1.EventTypeWarning, "R", "A", strings.Repeat("x", 2*maxNote))
	}
	for range many {
		say("c2")
	}
	if n := len(to.Events); n != eventsOfMember {
		t.Errorf("%d Events of c2, want %d", n, eventsOfMember)
	}
	say("c3")
	if n := len(to.Events); n != eventsOfMember+1 {
		t.Error("c3's Event was dropped because of c2's Events")
	}
	for range 2 * eventsOfMember { // the objects have a member's name, but no member caused these Events
		Say(b, &corev1.Namespace{}, &corev1.ObjectReference{Kind: "ServiceImport", Name: "c2"}, corev1.EventTypeWarning, "R", "A", "x")
	}
	if n := len(to.Events); n != 3*eventsOfMember+1 {
		t.Errorf("%d Events, want %d: Events without a member must not count as a member's", n, 3*eventsOfMember+1)
	}
	for len(to.Events) > 0 {
		<-to.Events
	}
	now = now.Add(eventsOfMemberEvery)
	say("c2")
	say("c2")
	if got := <-to.Events; !strings.HasSuffix(got, "(180 earlier Events were not recorded.)") || len(got) > maxNote+len("Warning R ") {
		t.Errorf("got %d bytes, ending in %q", len(got), got[len(got)-60:])
	}
	if len(to.Events) != 0 || b.LeftOut()["c2"] != many-eventsOfMember+1 {
		t.Errorf("%d more, left out %v", len(to.Events), b.LeftOut())
	}
}
