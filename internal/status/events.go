package status

import (
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// maxNote is the API's limit for the text of an Event, in bytes. Longer ones are refused.
const maxNote = 1024

// Say records an Event about an object, and, where it is not nil, another one that it has
// to do with. A text that is too long for an Event is cut: where it matters, a condition says
// all of it.
func Say(recorder events.EventRecorder, about, related runtime.Object, eventType, reason, action, text string) {
	recorder.Eventf(about, related, eventType, reason, action, "%s", cut(text, maxNote))
}

// cut shortens a text to limit bytes at most, at the end of a character.
func cut(text string, limit int) string {
	const more = " …"
	if len(text) <= limit {
		return text
	}
	end := limit - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
