package main

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf8"
)

const (
	// columns is the width at which long lines wrap.
	columns = 112
	// character is the width of a character. Each line has its length as textLength, so that all fonts keep to it.
	character, lineHeight, margin = 8.0, 17, 16
)

// terminalStyle has the colours of lines, for light and dark pages.
const terminalStyle = `<style>
rect{fill:#f6f8fa;stroke:#d0d7de}text{fill:#1f2328}.command{font-weight:bold}.good{fill:#116329}.warning{fill:#7d4e00}.bad{fill:#a40e26}.skipped{fill:#59636e}
@media (prefers-color-scheme: dark){rect{fill:#151b23;stroke:#3d444d}text{fill:#d1d7e0}.command{fill:#fff}.good{fill:#7ec699}.warning{fill:#e5c07b}.bad{fill:#f47067}.skipped{fill:#9198a1}}
</style>`

// classes are the classes of lines, by how the lines begin.
var classes = map[string]string{"$": "command", "√": "good", "‼": "warning", "×": "bad", "–": "skipped"}

// terminal draws a terminal with the transcript of a command. The first line is the command.
func terminal(transcript string) string {
	type line struct{ class, text string }
	var lines []line
	width := 0
	for text := range strings.Lines(strings.TrimRight(transcript, "\n") + "\n") {
		first, _, _ := strings.Cut(text, " ")
		for _, part := range wrap(strings.TrimRight(text, "\n")) {
			lines = append(lines, line{classes[first], part})
			width = max(width, utf8.RuneCountInString(part))
		}
	}
	var b strings.Builder
	w, h := 2*margin+character*float64(width), lineHeight*len(lines)+2*margin
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %d" font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,monospace" font-size="13" role="img">`+"\n", w, h)
	fmt.Fprintf(&b, "<title>The output of %s</title>\n%s\n", html.EscapeString(strings.TrimPrefix(lines[0].text, "$ ")), terminalStyle)
	fmt.Fprintf(&b, `<rect x="0.5" y="0.5" width="%.0f" height="%d" rx="6"/>`+"\n", w-1, h-1)
	for i, l := range lines {
		if l.text == "" {
			continue
		}
		class := ""
		if l.class != "" {
			class = fmt.Sprintf(` class="%s"`, l.class)
		}
		fmt.Fprintf(&b, `<text x="%d" y="%d" textLength="%.0f" lengthAdjust="spacingAndGlyphs" xml:space="preserve"%s>%s</text>`+"\n",
			margin, margin+12+lineHeight*i, character*float64(utf8.RuneCountInString(l.text)), class, html.EscapeString(l.text))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// wrap breaks a line between words where it is longer than columns. What follows is indented by four more.
func wrap(text string) (parts []string) {
	indent := len(text) - len(strings.TrimLeft(text, " ")) + 4
	for {
		runes := []rune(text)
		if len(runes) <= columns {
			return append(parts, text)
		}
		at := columns
		for at > indent && runes[at] != ' ' {
			at--
		}
		if at <= indent {
			at = columns
		}
		parts = append(parts, string(runes[:at]))
		text = strings.Repeat(" ", indent) + strings.TrimLeft(string(runes[at:]), " ")
	}
}
