package dnswiring

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const lighthousePart = "#lighthouse-start AUTO-GENERATED SECTION. DO NOT EDIT\nclusterset.local:53 {\n    forward . 10.0.0.1\n}\n#lighthouse-end\n"

// Where it is asked for, Lighthouse's part goes by the same change by which Atoll's comes, and nothing else does.
func TestReplaceLighthouse(t *testing.T) {
	takeover := wiring
	takeover.ReplaceLighthouse = true
	for name, tt := range map[string]struct {
		has, clean Cluster
		form       Form
	}{
		"in the Corefile":          {coreDNS(lighthousePart + root), coreDNS(root), CoreDNS},
		"in the middle of it":      {coreDNS(root + lighthousePart + "b.example {\n}\n"), coreDNS(root + "b.example {\n}\n"), CoreDNS},
		"in a key of its own":      {withKeys(lighthouseKey, "clusterset.local:53 {\n    forward . 10.0.0.1\n}\n", "b.server", "b.example {\n}\n"), withKeys("b.server", "b.example {\n}\n"), CoreDNSCustom},
		"as a server of OpenShift": {openShift(lighthouseServer), openShift("b"), OpenShift},
		"nowhere":                  {coreDNS(root), coreDNS(root), CoreDNS},
	} {
		if name == "as a server of OpenShift" {
			tt.clean.OpenShift.Object["spec"] = map[string]any{"servers": []any{}}
		}
		changes := must(Install(tt.has, takeover, []Form{tt.form}))
		if len(changes) != 1 {
			t.Errorf("%s: %d changes", name, len(changes))
		}
		want := tt.clean.apply(must(Install(tt.clean, wiring, []Form{tt.form})))
		if diff := cmp.Diff(want.text(t), tt.has.apply(changes).text(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if again := must(Install(want, takeover, []Form{tt.form})); !again[0].None() {
			t.Errorf("%s: a second time %s", name, describe(nil, again))
		}
	}
}

func withKeys(data ...string) Cluster {
	c := custom("", "")
	c.Custom = configMap("coredns-custom", data...)
	return c
}

// Without being asked to, it says how; and no zone of Lighthouse's is left without an answer.
func TestReplaceLighthouseIsRefused(t *testing.T) {
	takeover := wiring
	takeover.ReplaceLighthouse = true
	more := strings.ReplaceAll(lighthousePart, "clusterset.local:53 {", "clusterset.local:53 {\n}\nsupercluster.local:53 {")
	two := openShift(lighthouseServer)
	two.OpenShift.Object["spec"].(map[string]any)["servers"].([]any)[0].(map[string]any)["zones"] = []any{"clusterset.local", "Supercluster.local"}
	for name, tt := range map[string]struct {
		has    Cluster
		form   Form
		wiring Wiring
		want   string
	}{
		"not asked":              {coreDNS(lighthousePart + root), CoreDNS, wiring, "--replace-lighthouse"},
		"not asked, a key":       {withKeys(lighthouseKey, "clusterset.local:53 {\n}\n"), CoreDNSCustom, wiring, "--replace-lighthouse"},
		"not asked, OpenShift":   {openShift(lighthouseServer), OpenShift, wiring, "--replace-lighthouse"},
		"another zone":           {coreDNS(more + root), CoreDNS, takeover, "for the zone supercluster.local too"},
		"another zone in a key":  {withKeys(lighthouseKey, "supercluster.local:53 {\n}\n"), CoreDNSCustom, takeover, "for the zone supercluster.local too"},
		"another of OpenShift's": {two, OpenShift, takeover, "for the zone supercluster.local too"},
		"no end":                 {coreDNS(root + "#lighthouse-start\nclusterset.local:53 {\n}\n"), CoreDNS, takeover, `has no line with "lighthouse-end"`},
		"somebody else's block":  {coreDNS("clusterset.local:53 {\n}\n" + root), CoreDNS, takeover, "remove that first"},
	} {
		_, err := Install(tt.has, tt.wiring, []Form{tt.form})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}
