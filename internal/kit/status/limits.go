package status

import (
	"strings"
	"unicode/utf8"
)

// The API refuses an object whose condition message or Event note is longer, and with it every other
// condition that the same write carries. It counts the characters of a message and the bytes of a note.
// Both limits are applied in bytes, which are never fewer.
const (
	maxMessage = 32 << 10
	maxNote    = 1 << 10
)

// Message returns text as the message of a condition: shortened to what the API accepts.
func Message(text string) string { return cut(text, maxMessage) }

// Note returns text as the note of an Event: shortened to what the API accepts.
func Note(text string) string { return cut(text, maxNote) }

// cut shortens a text to limit bytes at most, at the end of a character. Bytes that are no
// characters, which the API refuses too, are left out.
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
