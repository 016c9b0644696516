package output

import (
	"io"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// cleaned writes text to a terminal, a pipe or a file. Use it through Printable.
type cleaned struct {
	to io.Writer
	mu sync.Mutex
	// begun is the beginning of a character whose end the next write has.
	begun []byte
}

// Printable returns a writer that escapes what other clusters could use to control a terminal or to disguise text: control
// characters, bidirectional controls and others that cannot be printed. It keeps line feeds, tabs and Marks in colour.
func Printable(w io.Writer) io.Writer { return &cleaned{to: w} }

// Raw returns the writer that Printable wraps, for what must stay as it is: YAML, whose encoder escapes control characters,
// join files, patches, and the terminals of other programs.
func Raw(w io.Writer) io.Writer {
	if c, ok := w.(*cleaned); ok {
		return c.to
	}
	return w
}

// Write implements io.Writer. An end that is no whole character waits for the next call.
func (c *cleaned) Write(data []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := append(c.begun, data...)
	end := len(all)
	for i := end - 1; i >= 0 && i >= end-utf8.UTFMax; i-- {
		if utf8.RuneStart(all[i]) {
			if !utf8.FullRune(all[i:]) {
				end = i
			}
			break
		}
	}
	c.begun = append([]byte(nil), all[end:]...)
	if _, err := io.WriteString(c.to, clean(string(all[:end]))); err != nil {
		return 0, err
	}
	return len(data), nil
}

// coloredMark finds exactly what Mark.On writes to terminals. Another cluster's text may contain it too: it changes nothing but
// its own colour.
var coloredMark = func() *regexp.Regexp {
	var all []string
	for _, m := range []Mark{Good, Warning, Bad, Pending, Skipped} {
		all = append(all, regexp.QuoteMeta(m.colored()))
	}
	return regexp.MustCompile(strings.Join(all, "|"))
}()

func clean(text string) string {
	var b strings.Builder
	for {
		at := coloredMark.FindStringIndex(text)
		if at == nil {
			return b.String() + printable.Lines(text)
		}
		b.WriteString(printable.Lines(text[:at[0]]) + text[at[0]:at[1]])
		text = text[at[1]:]
	}
}
