package status

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Say records an Event about an object and an optional related object. It bounds the Event's note: if the rest matters,
// a condition has the full text.
func Say(recorder events.EventRecorder, about, related runtime.Object, eventType, reason, action, text string) {
	recorder.Eventf(about, related, eventType, reason, action, "%s", Note(text))
}
