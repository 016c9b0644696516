package status

import (
	"unicode/utf8"

	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// The API refuses an object with a longer condition message or Event note, and all other conditions in the same write.
// It counts characters of a message and bytes of a note. Both limits here are in bytes, which are never fewer.
const (
	maxMessage = 32 << 10
	maxNote    = 1 << 10
)

// Message cleans text that may quote another cluster's, and shortens it to the maximum length of a condition's message.
func Message(text string) string { return cut(text, maxMessage) }

// Note does the same for an Event's note.
func Note(text string) string { return cut(text, maxNote) }

// cut shortens text to at most limit bytes, at a character boundary, after it was made printable: the API also refuses invalid
// UTF-8.
func cut(text string, limit int) string {
	const more = " …"
	text = printable.Line(text)
	if len(text) <= limit {
		return text
	}
	end := limit - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
