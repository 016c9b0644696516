package corefile

import (
	"io"
	"log"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/coredns/caddy/caddyfile"
	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/parse"
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

// Every text is cut into the words that CoreDNS cuts it into.
func TestTokensAreCoreDNSs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkTokens(t, texts().Draw(t, "text")) })
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{kubeadm, `"a\"b" c#d` + "\n\"e\nf\" g", "\ufeffa\r\nb"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if !utf8.ValidString(text) {
			t.Skip("CoreDNS replaces what is no UTF-8")
		}
		checkTokens(t, text)
		checkParse(t, text)
	})
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

func checkTokens(t failer, text string) {
	t.Helper()
	var got, want []caddyfile.Token
	for _, token := range tokens(text) {
		got = append(got, caddyfile.Token{Line: token.line, Text: token.text})
	}
	for d := caddyfile.NewDispenser("", strings.NewReader(text)); d.Next(); {
		want = append(want, caddyfile.Token{Line: d.Line(), Text: d.Val()})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%q: %s", text, diff)
	}
	for _, token := range tokens(text) {
		if written := text[token.start:token.end]; !strings.ContainsAny(written, "\"\\\r#") && written != token.text {
			t.Errorf("%q: %q stands at %d to %d, where the text is %q", text, token.text, token.start, token.end, written)
		}
	}
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
			for _, w := range tokens(" " + d.Text) { // a byte order mark counts at the beginning of a file only
				got[d.Name] = append(got[d.Name], w.text)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q: directives: %s", text, diff)
		}
	}
}

// Keys mean what they mean to CoreDNS.
func TestKeysAreCoreDNSs(t *testing.T) {
	parts := rapid.SampledFrom([]string{"a", ".", "B", "-", "local", ":53", ":", "dns://", "tls://", "10.1.2.0", "fd00::", "/8", "/23", "/12", "/61", "/0", "/128"})
	rapid.Check(t, func(t *rapid.T) {
		key := strings.Join(rapid.SliceOfN(parts, 1, 6).Draw(t, "parts"), "")
		transport, rest := parse.Transport(key)
		zones, port, err := plugin.SplitHostPort(rest)
		if err != nil || len(zones) > 300 {
			return
		}
		want := Address{Transport: transport, Port: port}
		for _, zone := range zones {
			want.Zones = append(want.Zones, Zone(plugin.Name(zone).Normalize()))
		}
		if diff := cmp.Diff(want, ParseKey(key)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	})
}
