// Package printable escapes text from other sources, so that terminals, conditions and Events can show it safely.
//
// Control characters (C0, C1, DEL) move the cursor, hide output or write the clipboard. Bidirectional controls and invisible
// characters make text look like other text. Line breaks forge lines. What unicode.IsPrint accepts does none of this.
package printable

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Is reports whether text is valid UTF-8 and has only characters that can be printed, on one line.
func Is(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// Line returns text on one line: a space for each line break and tab, and an escape like \u001b for other characters that
// cannot be printed.
func Line(text string) string {
	return clean(text, func(r rune) (string, bool) { return " ", r == '\n' || r == '\r' || r == '\t' })
}

// Lines is Line for text that may have several lines. It keeps line feeds and tabs.
func Lines(text string) string {
	return clean(text, func(r rune) (string, bool) { return string(r), r == '\n' || r == '\t' })
}

// clean escapes characters that cannot be printed, unless other has a replacement. The escapes are those of JSON strings, so
// JSON keeps its meaning. A byte that is not UTF-8 becomes U+FFFD, as in JSON.
func clean(text string, other func(rune) (string, bool)) string {
	if Is(text) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		replacement, ok := other(r)
		switch {
		case ok:
			b.WriteString(replacement)
		case unicode.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}
