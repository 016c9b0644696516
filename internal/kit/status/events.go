package status

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Say records an Event about an object and an optional related object. It bounds the Event's note: if the rest matters,
// a condition has the full text.
func Say(recorder events.EventRecorder, about, related runtime.Object, eventType, reason, action, text string) {
	recorder.Eventf(about, related, eventType, reason, action, "%s", Note(text))
}

// SayOf is Say for an Event that a member causes. A Bounded recorder limits the Events of each member.
func SayOf(recorder events.EventRecorder, member names.ClusterID, about, related runtime.Object, eventType, reason, action, text string) {
	if b, ok := recorder.(*Bounded); ok {
		recorder = ofMember{b, member}
	}
	Say(recorder, about, related, eventType, reason, action, text)
}
