package dnswiring

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// The plugins that Atoll knows are those of the CoreDNS that this repository builds with.
func TestPluginsAreCoreDNSs(t *testing.T) {
	list := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/coredns/coredns") // a binary may not know where its sources are (-trimpath)
	list.Stderr = t.Output()
	dir := strings.TrimSpace(string(must(list.Output())))
	if !strings.Contains(dir, "/coredns@v"+pluginsOf+".") {
		t.Errorf("the plugins are of %s, not of %s", pluginsOf, dir)
	}
	text := must(os.ReadFile(filepath.Join(dir, "core", "dnsserver", "zdirectives.go")))
	var all []string
	for _, match := range regexp.MustCompile(`(?m)^\t"(\w+)",$`).FindAllStringSubmatch(string(text), -1) {
		all = append(all, match[1])
	}
	for _, name := range all {
		if isForeign(corefile.Directive{Name: name}) {
			t.Errorf("the plugin %s is not known", name)
		}
	}
	for _, name := range slices.Concat(silent, later, answering) {
		if !slices.Contains(all, name) {
			t.Errorf("CoreDNS has no plugin %s", name)
		}
	}
}

// Directives with which CoreDNS may not start are reported, by an installation and by Inspect.
func TestSuspects(t *testing.T) {
	const official = "registry.k8s.io/coredns/coredns:v1.13.1"
	unknown := `the directive "nosuchplugin" in line 6 is no plugin of CoreDNS 1.15`
	inline := `the closing brace of the directive "forward" in line 6 must be on its own line`
	for name, test := range map[string]struct{ image, block, install, inspect string }{
		"an unknown plugin":                     {official, "nosuchplugin", unknown, unknown},
		"an unknown plugin of an unknown image": {"example.org/coredns:mine", "nosuchplugin", unknown, ""},
		"a brace behind words":                  {"", "forward . 192.0.2.1 { force_tcp }", inline, inline},
		"a brace in the next line":              {official, "forward . 192.0.2.1 { force_tcp\n }", "", ""},
		"empty braces":                          {official, "errors { }", "", ""},
		"known plugins":                         {official, "errors\n log", "", ""},
	} {
		c := coreDNS(root + "foo.example {\n " + test.block + "\n}\n.:1053 {\n reload\n}\n")
		c.Image = test.image
		changes := must(Install(c, wiring, []Form{CoreDNS}))
		if got := strings.Join(changes[0].Warnings, "\n"); !strings.HasPrefix(got, test.install) || (test.install == "") != (got == "") {
			t.Errorf("%s: warnings are %q, want %q", name, got, test.install)
		}
		got := strings.Join(must(Inspect(c, "clusterset.local", nil))[0].Suspects, "\n")
		if !strings.HasPrefix(got, test.inspect) || (test.inspect == "") != (got == "") {
			t.Errorf("%s: suspects are %q, want %q", name, got, test.inspect)
		}
		if text := c.CoreDNS.Data["Corefile"]; (starts(t, text) == nil) != (test.install == "") {
			t.Errorf("%s: CoreDNS: %v", name, starts(t, text))
		}
	}
}
