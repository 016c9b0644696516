package status

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Say records an Event about an object, and, where it is not nil, another one that it has
// to do with. The Event's note is bounded by Note: where it matters, a condition says all of it.
func Say(recorder events.EventRecorder, about, related runtime.Object, eventType, reason, action, text string) {
	recorder.Eventf(about, related, eventType, reason, action, "%s", Note(text))
}
