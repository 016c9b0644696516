package dnswiring

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
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
		"another zone":           {coreDNS(more + root), CoreDNS, takeover, "also serves the zone supercluster.local"},
		"another zone in a key":  {withKeys(lighthouseKey, "supercluster.local:53 {\n}\n"), CoreDNSCustom, takeover, "also serves the zone supercluster.local"},
		"another of OpenShift's": {two, OpenShift, takeover, "also serves the zone supercluster.local"},
		"no end":                 {coreDNS(root + "#lighthouse-start\nclusterset.local:53 {\n}\n"), CoreDNS, takeover, `has no matching end marker "lighthouse-end"`},
		"somebody else's block":  {coreDNS("clusterset.local:53 {\n}\n" + root), CoreDNS, takeover, "remove this configuration first"},
		"both, asked":            {coreDNS("clusterset.local:53 {\n}\n" + lighthousePart + root), CoreDNS, takeover, "remove this configuration first"},
		"keys of both":           {withKeys("a.server", "clusterset.local:53 {\n}\n", lighthouseKey, "b.example {\n}\n"), CoreDNSCustom, wiring, "remove this configuration first"},
		"below Atoll's":          {coreDNS(must(Install(coreDNS(root), wiring, []Form{CoreDNS}))[0].After.(*corev1.ConfigMap).Data[keyCorefile] + lighthousePart), CoreDNS, wiring, "--replace-lighthouse"},
	} {
		_, err := Install(tt.has, tt.wiring, []Form{tt.form})
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
		var taken *ClaimedError
		if errors.As(err, &taken) && taken.Lighthouse != strings.Contains(tt.want, "--replace-lighthouse") {
			t.Errorf("%s: taken for Lighthouse's: %t", name, taken.Lighthouse)
		}
	}
}

// Wherever Lighthouse's part is, it goes by the same command, whichever form Atoll's part has.
func TestReplaceLighthouseElsewhere(t *testing.T) {
	takeover := wiring
	takeover.ReplaceLighthouse = true
	main := root + "import custom/*.server\n"
	inKey := coreDNS(main)
	inKey.Custom = configMap("coredns-custom", lighthouseKey, "clusterset.local {\n}\n", "b.server", "b.example {\n}\n")
	keyGone := coreDNS(main)
	keyGone.Custom = configMap("coredns-custom", "b.server", "b.example {\n}\n")
	inBoth := coreDNS(lighthousePart + main)
	inBoth.Custom = inKey.Custom
	for name, tt := range map[string]struct {
		has, clean Cluster
		form       Form
	}{
		"in the Corefile, beside coredns-custom": {coreDNS(lighthousePart + main), coreDNS(main), CoreDNSCustom},
		"in the Corefile, which is asked for":    {coreDNS(lighthousePart + main), coreDNS(main), CoreDNS},
		"in coredns-custom, beside the Corefile": {inKey, keyGone, CoreDNS},
		"in both":                                {inBoth, keyGone, CoreDNSCustom},
	} {
		if _, err := Install(tt.has, wiring, []Form{tt.form}); err == nil || !strings.Contains(err.Error(), "add --replace-lighthouse") {
			t.Errorf("%s: it does not say what to use: %v", name, err)
		}
		changes := must(Install(tt.has, takeover, []Form{tt.form}))
		want := tt.clean.apply(must(Install(tt.clean, wiring, []Form{tt.form})))
		if diff := cmp.Diff(want.text(t), tt.has.apply(changes).text(t)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if added := changes[len(changes)-1].Form; added != tt.form {
			t.Errorf("%s: the last change is of %s", name, added)
		}
	}
}
