package corefile

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is one word of a Corefile.
type token struct {
	text       string
	line       int // of its first character, from 1
	start, end int // in the file, in bytes; quotes are within
}

// lastLine is the line that the token ends on, as CoreDNS reckons: by the line breaks
// that are in the word.
func (t token) lastLine() int { return t.line + strings.Count(t.text, "\n") }

// tokens cuts text into words as CoreDNS does (caddyfile/lexer.go of its Caddy): words end
// at white space, "#" begins a comment wherever it stands outside of quotes, a word that
// begins with a quote ends with the next one that has no backslash before it.
func tokens(text string) []token {
	l := lexer{text: text, line: 1}
	if strings.HasPrefix(text, byteOrderMark) {
		l.at = len(byteOrderMark)
	}
	for l.next() {
	}
	return l.found
}

const byteOrderMark = "\ufeff"

type lexer struct {
	text  string
	at    int // of the next character
	line  int
	found []token
}

// next reads one token, if there is another.
func (l *lexer) next() bool {
	var word strings.Builder
	var t token
	comment := false
	finish := func(end int) bool {
		t.text, t.end = word.String(), end
		l.found = append(l.found, t)
		return true
	}
	for l.at < len(l.text) {
		from := l.at
		ch := l.read()
		switch {
		case unicode.IsSpace(ch):
			if ch == '\r' {
				continue // is not even the end of a word
			}
			if word.Len() > 0 {
				if ch == '\n' {
					l.line++
				}
				return finish(t.end)
			}
			if ch == '\n' {
				l.line++
				comment = false
			}
		case comment:
		case ch == '#':
			comment = true
		case word.Len() == 0 && ch == '"':
			t = token{line: l.line, start: from}
			return l.quoted(t)
		default:
			if word.Len() == 0 {
				t = token{line: l.line, start: from}
			}
			word.WriteString(l.text[from:l.at])
			t.end = l.at
		}
	}
	return word.Len() > 0 && finish(t.end)
}

// quoted reads the rest of a token that began with a quote. One without end counts if
// there is anything in it.
func (l *lexer) quoted(t token) bool {
	var word strings.Builder
	escaped := false
	for l.at < len(l.text) {
		from := l.at
		ch := l.read()
		if ch == '\n' {
			l.line++
		}
		switch {
		case !escaped && ch == '\\':
			escaped = true
			continue
		case !escaped && ch == '"':
			t.text, t.end = word.String(), l.at
			l.found = append(l.found, t)
			return true
		case escaped && ch != '"':
			word.WriteByte('\\') // only quotes are escaped
		}
		escaped = false
		word.WriteString(l.text[from:l.at])
	}
	if word.Len() == 0 {
		return false
	}
	t.text, t.end = word.String(), l.at
	l.found = append(l.found, t)
	return true
}

func (l *lexer) read() rune {
	ch, size := utf8.DecodeRuneInString(l.text[l.at:])
	l.at += size
	return ch
}
