package status

import (
	"strings"
	"unicode/utf8"
)

// The API refuses an object with a longer condition message or Event note, and all other conditions in the same write.
// It counts characters of a message and bytes of a note. Both limits here are in bytes, which are never fewer.
const (
	maxMessage = 32 << 10
	maxNote    = 1 << 10
)

// Message shortens text to the maximum length of a condition's message.
func Message(text string) string { return cut(text, maxMessage) }

// Note shortens text to the maximum length of an Event's note.
func Note(text string) string { return cut(text, maxNote) }

// cut shortens text to at most limit bytes, at a character boundary. It drops invalid UTF-8, which the API refuses too.
func cut(text string, limit int) string {
	const more = " …"
	text = strings.ToValidUTF8(text, "")
	if len(text) <= limit {
		return text
	}
	end := limit - len(more)
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + more
}
