package dnswiring

import (
	"fmt"
	"io"
	"log"
	"strings"
	"testing"

	"github.com/coredns/caddy/caddyfile"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

func init() { log.SetOutput(io.Discard) }

// corefiles are ones that CoreDNS would take, written as people write them.
func corefiles() *rapid.Generator[string] {
	space := rapid.SampledFrom([]string{"\n", "\n\n", "\r\n", "\n\t", " # c {\n", "\n# END atoll\n", "\n  # \"\n"})
	word := rapid.SampledFrom([]string{"a", "10.0.0.1", `"b c"`, `"}\""`, "{$X}", "ü"})
	line := rapid.Custom(func(t *rapid.T) string {
		return strings.Join(append([]string{"plugin"}, rapid.SliceOfN(word, 0, 3).Draw(t, "args")...), " ")
	})
	body := func(depth string) *rapid.Generator[string] {
		return rapid.Custom(func(t *rapid.T) string {
			var b strings.Builder
			for _, l := range rapid.SliceOfN(line, 0, 3).Draw(t, depth) {
				b.WriteString(l)
				if rapid.Bool().Draw(t, "braces") {
					b.WriteString(" {\n  " + line.Draw(t, "inner") + space.Draw(t, "space") + "}")
				}
				b.WriteString(space.Draw(t, "space"))
			}
			return b.String()
		})
	}
	key := rapid.SampledFrom([]string{".:53", "example.org", "dns://a.b:1053", "10.0.0.0/8", "(snippet)"})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", "# top\n", "\ufeff"}).Draw(t, "top"))
		for _, k := range rapid.SliceOfNDistinct(key, 1, 4, rapid.ID[string]).Draw(t, "keys") {
			b.WriteString(k + " {\n" + body("body").Draw(t, "body") + "}" + space.Draw(t, "space"))
		}
		return strings.TrimSuffix(b.String(), rapid.SampledFrom([]string{"", "\n"}).Draw(t, "end"))
	})
}

// TestCorefileRoundTrip: whatever the Corefile, what was there before is there afterwards,
// and in between CoreDNS sees the same blocks and one more.
func TestCorefileRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := corefiles().Draw(t, "Corefile")
		if wired := checkCorefile(t, text); wired == "" && strings.Contains(text, ".:53 {") {
			_, err := Install(coreDNS(text), wiring, []Form{CoreDNS})
			t.Errorf("%q is refused: %v", text, err)
		}
	})
}

func FuzzCorefile(f *testing.F) {
	for _, seed := range []string{root, root[:len(root)-1], ".:53 {\n bind lo\n}\n# END atoll", "(a) {\n}\n.:53, b:53\n{\n}\r\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { checkCorefile(t, text) })
}

type failer interface {
	Helper()
	Errorf(string, ...any)
}

// checkCorefile wires a Corefile, if it can be, and returns it wired.
func checkCorefile(t failer, text string) string {
	t.Helper()
	if from, _, err := marked(text); err != nil || from >= 0 {
		return ""
	}
	var wired string
	for _, form := range []Form{CoreDNS, NodeLocal} {
		was := coreDNS(text)
		if form == NodeLocal {
			was = Cluster{NodeLocal: configMap("node-local-dns", "Corefile", text)}
		}
		changes, err := Install(was, wiring, []Form{form})
		if err != nil {
			return ""
		}
		is := was.with(changes)
		wired = (*is.configMap(form)).Data["Corefile"]
		if again, err := Install(is, wiring, []Form{form}); err != nil || !again[0].None() {
			t.Errorf("%q: a second time: %v, %v", text, again, err)
		}
		if back, err := removeBlock(wired); err != nil || back != text {
			t.Errorf("%q: back again: %q, %v", text, back, err)
		}
	}
	if strings.Contains(text, "import") || strings.Contains(text, "{$") || strings.Contains(text, "{%") {
		return wired // CoreDNS reads files, and its environment
	}
	was, err := caddyfile.Parse("", strings.NewReader(text), nil)
	if err != nil {
		return wired // a snippet defined twice
	}
	is, err := caddyfile.Parse("", strings.NewReader(wired), nil)
	if err != nil || len(is) != len(was)+1 {
		t.Errorf("%q: CoreDNS sees %d blocks in place of %d and one more: %v", text, len(is), len(was), err)
		return wired
	}
	for i := range was {
		if fmt.Sprint(was[i].Keys) != fmt.Sprint(is[i].Keys) || words(was[i]) != words(is[i]) {
			t.Errorf("%q: CoreDNS sees another block %v", text, is[i].Keys)
		}
	}
	last := is[len(was)]
	if zone := corefile.ParseKey(last.Keys[0]).Zones[0]; zone != "clusterset.local" || len(last.Tokens["forward"]) < 3 {
		t.Errorf("%q: CoreDNS sees the block %v", text, last)
	}
	return wired
}

func words(b caddyfile.ServerBlock) string {
	all := map[string][]string{}
	for name, tokens := range b.Tokens {
		for _, t := range tokens {
			all[name] = append(all[name], t.Text)
		}
	}
	return fmt.Sprint(all)
}
