package printable

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzPrintable: whatever the text, nothing that cannot be printed is left, text without it stays the same, and JSON keeps its meaning.
func FuzzPrintable(f *testing.F) {
	for _, seed := range []string{
		"", "eu-west-1", "Zürich √ 日本", "x\x1b[31m\r\n\tred\x07\x7f", "\u0085\u009b2J", "a\u202eb\u2066c\u2069", "\u2028\u2029", "\xff\xc3", "\u200b\ufeff\U000e0041",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, given string) {
		line, lines := Line(given), Lines(given)
		if !Is(line) || Line(line) != line {
			t.Errorf("%q becomes %q", given, line)
		}
		bad := func(r rune) bool { return !unicode.IsPrint(r) && r != '\n' && r != '\t' }
		if !utf8.ValidString(lines) || strings.ContainsFunc(lines, bad) || Lines(lines) != lines {
			t.Errorf("%q becomes %q", given, lines)
		}
		if Is(given) && (line != given || lines != given) {
			t.Errorf("%q is clean, but becomes %q and %q", given, line, lines)
		}
		encoded, err := json.Marshal(given)
		if err != nil {
			t.Fatal(err)
		}
		var before, after string
		if err := json.Unmarshal(encoded, &before); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(Lines(string(encoded))), &after); err != nil || after != before {
			t.Errorf("JSON of %q becomes %q, %v", before, after, err)
		}
	})
}
