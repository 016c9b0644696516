package status

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

func TestCut(t *testing.T) {
	if got := cut("all of it", 9); got != "all of it" {
		t.Errorf("got %q", got)
	}
	if got := cut("all of it and more", 9); got != "all o …" {
		t.Errorf("got %q", got)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		got := cut(text, 20)
		text = printable.Line(text)
		kept, wasCut := strings.CutSuffix(got, " …")
		if len(got) > 20 || !utf8.ValidString(got) || !strings.HasPrefix(text, kept) || wasCut != (len(text) > 20) && !strings.HasSuffix(text, " …") {
			t.Errorf("%q became %q", text, got)
		}
	})
}
