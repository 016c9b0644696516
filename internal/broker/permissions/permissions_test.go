package permissions

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"pgregory.net/rapid"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestParseNamespaces(t *testing.T) {
	for _, tt := range []struct {
		text  string
		want  string
		wrong []string // words
	}{
		{text: "", want: ""},
		{text: " ,\n\t\r, ", want: ""},
		{text: "shop", want: "shop"},
		{text: "shop,team-a-*\nteam-b-*  shop", want: "shop, team-a-*, team-b-*"},
		{text: "*", want: "*"},
		{text: "*,shop", want: "*, shop"},
		{text: strings.Repeat("a", 63) + "*", want: strings.Repeat("a", 63) + "*"},
		{text: strings.Repeat("a", 64), wrong: []string{strings.Repeat("a", 64)}},
		{text: "Shop, shop", want: "shop", wrong: []string{"Shop"}},
		{text: "sh*p *shop ** -* -a shop. a.b a_b shop\u00a0x", wrong: []string{"sh*p", "*shop", "**", "-*", "-a", "shop.", "a.b", "a_b", "shop\u00a0x"}},
	} {
		set, err := ParseNamespaces(tt.text)
		if set.String() != tt.want {
			t.Errorf("%q is read as %q, want %q", tt.text, set, tt.want)
		}
		var wrong []string
		if err != nil {
			wrong = strings.Split(err.Error(), "\n")
		}
		if len(wrong) != len(tt.wrong) {
			t.Errorf("%q: mistakes are %q", tt.text, wrong)
			continue
		}
		for i, word := range tt.wrong {
			if !strings.HasPrefix(wrong[i], fmt.Sprintf("%.70q is neither", word)) {
				t.Errorf("%q: mistake %q, want one about %q", tt.text, wrong[i], word)
			}
		}
	}
}

// A set contains a namespace if a word equals its name or is a prefix pattern of its name.
// Writing and parsing a set preserves it.
func TestContainsNamespace(t *testing.T) {
	name := rapid.StringMatching(`[ab]([-ab]{0,2}[ab])?`)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.OneOf(name, rapid.StringMatching(`([ab][-ab]{0,2})?\*`)), 0, 4).Draw(t, "words")
		written := append(slices.Clone(words), rapid.SliceOfN(rapid.SampledFrom([]string{"A", "a.b", "a*b"}), 0, 2).Draw(t, "mistakes")...)
		set, _ := ParseNamespaces(strings.Join(rapid.Permutation(written).Draw(t, "order"), rapid.SampledFrom([]string{",", " ", ", ", "\n"}).Draw(t, "between")))
		again, err := ParseNamespaces(set.String())
		if err != nil || !again.Equal(set) {
			t.Fatalf("%q is read again as %q: %v", set, again, err)
		}
		namespace := name.Draw(t, "namespace")
		want := slices.ContainsFunc(words, func(w string) bool {
			prefix, isPrefix := strings.CutSuffix(w, "*")
			return w == namespace || isPrefix && strings.HasPrefix(namespace, prefix)
		})
		if got := set.Contains(namespace); got != want {
			t.Fatalf("%s in %q: %t, want %t", namespace, set, got, want)
		}
	})
}

// Only members whose own namespaces name a reserved namespace may export it: neither the default nor * is enough.
func TestReserved(t *testing.T) {
	members, _ := Read(&corev1.ConfigMap{Data: map[string]string{
		"reserved": "shop team-a-*", "namespaces": "shop", "namespaces.c1": "*, shop", "namespaces.c2": "*", "namespaces.c3": "sh*", "namespaces.c4": "team-a-x",
	}})
	for namespace, want := range map[string]string{"shop": "c1 c3", "team-a-x": "c4", "team-a-y": "", "other": "c1 c2"} {
		var may, owns []string
		for _, id := range []names.ClusterID{"c1", "c2", "c3", "c4", "c5"} {
			if members.MayExport(id, namespace) {
				may = append(may, id.String())
			}
			if members.Owns(id, namespace) {
				owns = append(owns, id.String())
			}
		}
		if got := strings.Join(may, " "); got != want || members.IsReserved(namespace) && !slices.Equal(may, owns) || !members.IsReserved(namespace) && len(owns) > 0 {
			t.Errorf("%s: %s, owners %v, want %s", namespace, got, owns, want)
		}
	}
}

func TestRead(t *testing.T) {
	members, mistakes := Read(&corev1.ConfigMap{
		Data: map[string]string{
			"ranges.c1": "10.1.0.0/16, fd00:1::/48", "namespaces.c1": "shop,team-a-*", "namespaces.c2.eu": "shop Team", "ranges.c2.eu": "10.2.0.0/16 nonsense 10.3.0.1",
			"ranges.c3": "", "namespaces.c4": "", "ranges.Not_an_id": "10.0.0.0/8", "reserved": "shop Bank", "drained.c1": "true", "drained.c2.eu": "false", "drained.c8": "soon", "frozen.c1": "true", "frozen.c2.eu": "false", "frozen.c8": "soon", "namespaces.a.b.c": "shop", "c7": "10.0.0.0/8",
		},
		BinaryData: map[string][]byte{"namespaces.c5": {0xff, 0xfe}, "ranges.c6": {0xff}},
	})
	want := map[string]string{
		"ranges.c1": "10.1.0.0/16, fd00:1::/48", "namespaces.c1": "shop, team-a-*", "namespaces.c2.eu": "shop", "ranges.c2.eu": "10.2.0.0/16",
		"ranges.c3": "", "namespaces.c4": "", "namespaces.c5": "", "ranges.c6": "", "drained.c1": "true", "frozen.c1": "true", "frozen.c8": "true", "reserved": "shop",
	}
	if diff := cmp.Diff(want, members.Data()); diff != "" {
		t.Errorf("permitted (-want +got):\n%s", diff)
	}
	wanted := []string{
		"c7: the key must have the form namespaces.CLUSTER, ranges.CLUSTER, drained.CLUSTER or frozen.CLUSTER, or be reserved", `drained.c8: "soon" is neither true nor false`, `frozen.c8: "soon" is neither true nor false`, "namespaces.a.b.c: ", `namespaces.c2.eu: "Team" is neither`, "namespaces.c5: ",
		"ranges.Not_an_id: ", `ranges.c2.eu: "nonsense" is not an address range`, `ranges.c2.eu: "10.3.0.1" is an address`, "ranges.c6: ", `reserved: "Bank" is neither`,
	}
	if len(mistakes) != len(wanted) {
		t.Fatalf("mistakes are %q", mistakes)
	}
	for i, want := range wanted {
		if got := mistakes[i].Key + ": " + mistakes[i].Text; !strings.HasPrefix(got, want) || strings.Contains(got, "\n") {
			t.Errorf("mistake %q, want %q", mistakes[i], want)
		}
	}
	for _, tt := range []struct {
		cluster   names.ClusterID
		namespace string
		may       bool
	}{
		{"c1", "shop", true}, {"c1", "team-a-x", true}, {"c1", "team-b", false}, {"c2.eu", "shop", true}, {"c2.eu", "Team", false},
		{"c3", "shop", false}, {"c3", "bank", true}, {"c4", "shop", false}, {"c5", "shop", false}, {"c9", "shop", false}, {"c9", "bank", true},
	} {
		if got := members.MayExport(tt.cluster, tt.namespace); got != tt.may {
			t.Errorf("%s may export %s: %t", tt.cluster, tt.namespace, got)
		}
	}
	address := netip.MustParseAddr("10.1.2.3")
	for id, allowed := range map[names.ClusterID]bool{"c1": true, "c2.eu": false, "c3": false, "c4": true, "c6": false, "c9": true} {
		if got := members.AllowsAddress(id, address); got != allowed {
			t.Errorf("%s may have %s: %t", id, address, got)
		}
	}
	for name, tt := range map[string]struct {
		config        corev1.ConfigMap
		own, usual, c bool // c1 (own permission) may export shop; c2 (default) may export shop; c2 may export cart
	}{
		"nothing is written":        {corev1.ConfigMap{}, true, true, true},
		"all, by default":           {corev1.ConfigMap{Data: map[string]string{"namespaces": "*", "namespaces.c1": "a"}}, false, true, true},
		"none, by default":          {corev1.ConfigMap{Data: map[string]string{"namespaces": "", "namespaces.c1": "*"}}, true, false, false},
		"some, by default":          {corev1.ConfigMap{Data: map[string]string{"namespaces": "sh*", "namespaces.c1": ""}}, false, true, false},
		"ranges are not namespaces": {corev1.ConfigMap{Data: map[string]string{"namespaces": "", "ranges.c1": "10.0.0.0/8"}}, false, false, false},
		"a mistake":                 {corev1.ConfigMap{Data: map[string]string{"namespaces": "Shop"}}, false, false, false},
		"no text":                   {corev1.ConfigMap{BinaryData: map[string][]byte{"namespaces": {0xff}}}, false, false, false},
		"no default of ranges":      {corev1.ConfigMap{Data: map[string]string{"ranges": "10.0.0.0/8"}}, true, true, true},
	} {
		members, _ := Read(&tt.config)
		again, _ := Read(&corev1.ConfigMap{Data: members.Data()})
		for _, m := range []Members{members, again} {
			if own, usual, c := m.MayExport("c1", "shop"), m.MayExport("c2", "shop"), m.MayExport("c2", "cart"); own != tt.own || usual != tt.usual || c != tt.c {
				t.Errorf("%s: %t, %t, %t", name, own, usual, c)
			}
		}
	}
	if members, mistakes := Read(&corev1.ConfigMap{}); len(members)+len(mistakes) != 0 {
		t.Errorf("an empty ConfigMap: permissions %v, mistakes %v", members, mistakes)
	}
}

// FuzzParseNamespaces parses any text. Writing and parsing the result preserves it.
func FuzzParseNamespaces(f *testing.F) {
	f.Add("shop,team-a-*\n*")
	f.Add("-* a.b ** \x00")
	f.Fuzz(func(t *testing.T, text string) {
		set, _ := ParseNamespaces(text)
		again, err := ParseNamespaces(set.String())
		if err != nil || !again.Equal(set) {
			t.Errorf("%q is read again as %q: %v", set, again, err)
		}
	})
}
