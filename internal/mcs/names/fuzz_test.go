package names

import (
	"strings"
	"testing"
)

// FuzzParseClusterID parses arbitrary ids, as labels and join files may contain them. An
// accepted id must be a valid label value and a valid end of a DNS name.
func FuzzParseClusterID(f *testing.F) {
	for _, id := range []string{"c1", "c1.eu", "", ".", "c1.", "C1", "a.b.c", "a_b", strings.Repeat("a", 64), "-a", "a\x00"} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseClusterID(text)
		if err != nil {
			return
		}
		if id.String() != text || text == "" || len(text) > MaxLabelValue || strings.Count(text, ".") > 1 {
			t.Errorf("%q is read as %q", text, id)
		}
		for l := range strings.SplitSeq(text, ".") {
			if l == "" || strings.Trim(l, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" || strings.HasPrefix(l, "-") || strings.HasSuffix(l, "-") {
				t.Errorf("%q has the label %q", text, l)
			}
		}
	})
}
