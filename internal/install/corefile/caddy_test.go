package corefile

import (
	"io"
	"log"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coredns/caddy/caddyfile"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func init() { log.SetOutput(io.Discard) }

// pieces are what random Corefiles are made of.
var pieces = rapid.SampledFrom([]string{
	" ", "\n", "\n", "\t", "\r\n", "\r", "{", "}", " {\n", "\n}\n", "a", "b.c:53", "dns://x", ",", "#", "# c\n", `"`, `\`, `\"`,
	"import", "kubernetes cluster.local", "forward . 1.1.1.1", "(s)", "\u00a0", "é", "{$A}", "\ufeff",
})

func texts() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		return strings.Join(rapid.SliceOfN(pieces, 0, 40).Draw(t, "pieces"), "")
	})
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{kubeadm, `"a\"b" c#d` + "\n\"e\nf\" g", "\ufeffa\r\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("CoreDNS replaces what is no UTF-8")
		}
		checkParse(t, text)
	})
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// What is read here, CoreDNS reads alike.
func TestBlocksAreCoreDNSs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkParse(t, texts().Draw(t, "text")) })
}

func checkParse(t failer, text string) {
	t.Helper()
	if strings.Contains(text, "import") || strings.Contains(text, "{$") || strings.Contains(text, "{%") {
		return // CoreDNS reads files, and its environment
	}
	file, err := Parse(text)
	if err != nil {
		return // more is refused here
	}
	blocks, err := caddyfile.Parse("Corefile", strings.NewReader(text), nil)
	if err != nil {
		if !strings.Contains(err.Error(), "redeclaration of previously declared snippet") {
			t.Errorf("%q: CoreDNS refuses it: %v", text, err)
		}
		return
	}
	if len(blocks) != len(file.Blocks) {
		t.Errorf("%q: %d blocks, CoreDNS has %d", text, len(file.Blocks), len(blocks))
		return
	}
	for i, b := range blocks {
		if !slices.Equal(b.Keys, file.Blocks[i].Keys) {
			t.Errorf("%q: keys are %q, CoreDNS's %q", text, file.Blocks[i].Keys, b.Keys)
		}
		want := map[string][]string{} // all words after the name, braces included
		for name, words := range b.Tokens {
			for _, w := range words {
				want[name] = append(want[name], w.Text)
			}
		}
		got := map[string][]string{}
		for _, d := range file.Blocks[i].Directives {
			for _, w := range tokens(Source{Text: " " + d.String()}) { // a byte order mark counts at the beginning of a file only
				got[d.Name] = append(got[d.Name], w.text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: directives: %s", text, diff)
		}
	}
}
