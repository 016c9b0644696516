package corefile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const kubeadm = `.:53 {
    errors
    health {
       lameduck 5s
    }
    ready
    kubernetes cluster.local in-addr.arpa ip6.arpa {
       pods insecure
       fallthrough in-addr.arpa ip6.arpa
       ttl 30
    }
    forward . /etc/resolv.conf {
       max_concurrent 1000
    }
    reload
    import custom/*.override
}
import custom/*.server
`

func TestParse(t *testing.T) {
	got, err := Parse(kubeadm)
	if err != nil {
		t.Fatal(err)
	}
	want := File{
		Imports: []string{"custom/*.server"},
		Blocks: []Block{{
			Keys: []string{".:53"},
			Line: 1,
			Directives: []Directive{
				{Name: "errors", Line: 2},
				{Name: "health", Body: [][]string{{"lameduck", "5s"}}, Line: 3},
				{Name: "ready", Line: 6},
				{
					Name: "kubernetes", Args: []string{"cluster.local", "in-addr.arpa", "ip6.arpa"},
					Body: [][]string{{"pods", "insecure"}, {"fallthrough", "in-addr.arpa", "ip6.arpa"}, {"ttl", "30"}},
					Line: 7,
				},
				{
					Name: "forward", Args: []string{".", "/etc/resolv.conf"}, Body: [][]string{{"max_concurrent", "1000"}}, Line: 12,
				},
				{Name: "reload", Line: 15},
				{Name: "import", Args: []string{"custom/*.override"}, Line: 16},
			},
		}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParseForms(t *testing.T) {
	for _, test := range []struct {
		name, text string
		keys       string // of all blocks, by "|"
		directives string
	}{
		{"nothing", "", "", ""},
		{"only comments", "# a\n  # b {", "", ""},
		{"several keys", "a b:53, \n dns://c {\n}", "a b:53 dns://c", ""},
		{"brace on its own line", "a\n{\n log\n}", "a", "log"},
		{"snippet", "(tls) {\n log {\n class all\n }\n}\na {\nimport tls\n}", "a", "import"},
		{"comments", "a { # b {\n log # }\n} #c {\nd {\n}", "a|d", "log"},
		{"quotes", `"a" {` + "\n\"log\" \"} \\\" {\"\n}", "a", "log"},
		{"braces in a directive's braces", "a {\n b {\n c {\n d\n }\n e\n }\n f\n}", "a", "b f"},
		{"a directive's brace on the next line", "a {\n b\n {\n c\n }\n}", "a", "b"},
		{"carriage returns", "a {\r\n log\r\n}\r\n", "a", "log"},
		{"byte order mark", "\ufeffa {\n}", "a", ""},
		{"environment", "{$ZONE}:53 {\n log {$X}\n}", "{$ZONE}:53", "log"},
	} {
		t.Run(test.name, func(t *testing.T) {
			file, err := Parse(test.text)
			if err != nil {
				t.Fatal(err)
			}
			var keys, directives []string
			for _, b := range file.Blocks {
				keys = append(keys, strings.Join(b.Keys, " "))
				for _, d := range b.Directives {
					directives = append(directives, d.Name)
				}
			}
			if got := strings.Join(keys, "|"); got != test.keys {
				t.Errorf("keys: got %q, want %q", got, test.keys)
			}
			if got := strings.Join(directives, " "); got != test.directives {
				t.Errorf("directives: got %q, want %q", got, test.directives)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no braces", "\n.:53\nforward . 1.1.1.1\n", "line 2: the server block has no braces"},
		{"only a key", ".:53", "line 1: the server block has no braces"},
		// CoreDNS takes the forward's brace for the block's too.
		{"no closing brace", ".:53 {\nforward . 1.1.1.1 {\nprefer_udp\n}\n", "line 1: the server block of .:53 has no closing brace"},
		{"directive without closing brace", "a {\nlog {\n", "line 2: the directive log has no closing brace"},
		{"a brace too many", "a {\n}\n}\n", "line 3: the server block has no braces"},
		{"closing brace on a directive's line", "a {\nlog }\n", "line 2: found } without a matching {"},
		{"no key", "{\nlog\n}", "line 1: found { instead of a zone"},
		{"comma without key", "a, {\n}", "line 1: found { instead of a zone"},
		{"comma at the end", "a,", "line 1: the server block has no zone"},
		{"import without file", "import\na {\n}", "line 1: the directive import takes exactly one argument"},
		{"snippet without end", "(a) {\nlog", "line 1: the snippet has no closing brace"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Parse(test.text)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v, want %q", err, test.want)
			}
		})
	}
}

func TestParseKey(t *testing.T) {
	for key, want := range map[string]Address{
		".":                      {"dns", []string{""}, ""},
		".:53":                   {"dns", []string{""}, "53"},
		"Clusterset.Local.":      {"dns", []string{"clusterset.local"}, ""},
		"clusterset.local:1053":  {"dns", []string{"clusterset.local"}, "1053"},
		"tls://clusterset.local": {"tls", []string{"clusterset.local"}, ""},
		"dns://.:5353":           {"dns", []string{""}, "5353"},
		"10.0.0.0/8":             {"dns", []string{"10.in-addr.arpa"}, ""},
		"10.100.0.0/16:53":       {"dns", []string{"100.10.in-addr.arpa"}, "53"},
		"10.100.2.0/23":          {"dns", []string{"2.100.10.in-addr.arpa", "3.100.10.in-addr.arpa"}, ""},
		"fd00:20:1::/48":         {"dns", []string{"1.0.0.0.0.2.0.0.0.0.d.f.ip6.arpa"}, ""},
		"fd00::/7":               {"dns", []string{"c.f.ip6.arpa", "d.f.ip6.arpa"}, ""},
		"0.0.0.0/0":              {"dns", []string{"in-addr.arpa"}, ""},
	} {
		if diff := cmp.Diff(want, ParseKey(key)); diff != "" {
			t.Errorf("%s: %s", key, diff)
		}
	}
}
