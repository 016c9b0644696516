package status

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Say records an Event about an object and an optional related object. It cleans and bounds the Event's note: if the rest matters,
// a condition has the full text.
func Say(recorder events.EventRecorder, about, related runtime.Object, eventType, reason, action, text string) {
	recorder.Eventf(about, related, eventType, reason, action, "%s", Note(text))
}

// SayRefused records an Event if the API server refuses an object's status: the object cannot report that itself.
func SayRefused(recorder events.EventRecorder, about runtime.Object, out kit.Outcome) {
	if out.Refusal != "" {
		Say(recorder, about, nil, corev1.EventTypeWarning, "StatusRefused", "Report", fmt.Sprintf(
			"This cluster's API server rejects the status of this object, so its conditions may be outdated. The agent retries every 20 to 30 seconds. The API server's message: %s", out.Refusal))
	}
}

// SayOf is Say for an Event that a member causes. A Bounded recorder limits the Events of each member.
func SayOf(recorder events.EventRecorder, member names.ClusterID, about, related runtime.Object, eventType, reason, action, text string) {
	if b, ok := recorder.(*Bounded); ok {
		recorder = ofMember{b, member}
	}
	Say(recorder, about, related, eventType, reason, action, text)
}
