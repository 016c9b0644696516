package refusal

import (
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ text, has, hasNot, mistake string }{
		{"c1", "c1", "c2", ""},
		{"c1,c2.eu", "c1 c2.eu", "c2 eu", ""},
		{" c1 , c2", "c1 c2", "c3", ""},
		{"*", "c1 c2.eu", "", ""},
		{"*,c1", "c1 c2", "", ""},
		{"c1,C 2,c3", "c1 c3", "c2", `"C 2" is not a cluster id`},
		{"", "", "c1", "empty"},
		{"c1,", "c1", "c2", "empty"},
		{"c*", "", "c1", `"c*" is not a cluster id`},
		{strings.Repeat("x", 5000) + ",c1", "c1", "x", "is not a cluster id"},
	} {
		c, err := Parse(tt.text)
		for _, id := range strings.Fields(tt.has) {
			if !c.Has(names.ClusterID(id)) {
				t.Errorf("%.20q does not refuse %s", tt.text, id)
			}
		}
		for _, id := range strings.Fields(tt.hasNot) {
			if c.Has(names.ClusterID(id)) {
				t.Errorf("%.20q refuses %s", tt.text, id)
			}
		}
		if (err == nil) != (tt.mistake == "") || err != nil && (!strings.Contains(err.Error(), tt.mistake) || len(err.Error()) > 200) {
			t.Errorf("%.20q: %v", tt.text, err)
		}
	}
}

func TestRules(t *testing.T) {
	everywhere, _ := Parse("c3")
	for _, tt := range []struct {
		namespace           string
		labels, annotations map[string]string
		want                string // reasons for c1, c2 and c3
	}{
		{"shop", nil, nil, "||RefusedByAgent"},
		{"shop", nil, map[string]string{"atoll.dev/refuse-imports": "c1"}, "RefusedByNamespace||RefusedByAgent"},
		{"shop", nil, map[string]string{"atoll.dev/refuse-imports": "*"}, "RefusedByNamespace|RefusedByNamespace|RefusedByNamespace"},
		{"shop", nil, map[string]string{"atoll.dev/refuse-imports": ""}, "||RefusedByAgent"},
		{"default", nil, nil, "SystemNamespace|SystemNamespace|SystemNamespace"},
		{"default", map[string]string{"atoll.dev/exports": "allowed"}, map[string]string{"atoll.dev/refuse-imports": "c1"}, "RefusedByNamespace||RefusedByAgent"},
	} {
		rules := In(tt.namespace, tt.labels, tt.annotations, Agent{Clusters: everywhere})
		var got []string
		for _, id := range []names.ClusterID{"c1", "c2", "c3"} {
			reason := rules.Reason(id)
			got = append(got, string(reason))
			if why, undo := reason.Explain(tt.namespace, ""); (why == "") != (reason == "") || (undo == "") != (reason == "") {
				t.Errorf("%q is explained by %q and undone by %q", reason, why, undo)
			}
		}
		if strings.Join(got, "|") != tt.want {
			t.Errorf("%s %v %v: %q, want %q", tt.namespace, tt.labels, tt.annotations, got, tt.want)
		}
	}
}

// System namespaces are closed, and those of the agent's flag, unless their label opens them.
func TestClosed(t *testing.T) {
	agent := Agent{Closed: []string{"*-system", "cert-manager"}}
	if err := ParseClosed(agent.Closed); err != nil {
		t.Fatal(err)
	}
	for namespace, closed := range map[string]bool{
		"default": true, "kube-system": true, "atoll-system": true, "atoll-hub": true, "openshift-dns": true, "istio-system": true, "cert-manager": true,
		"shop": false, "cert-manager-x": false, "openshift": false, "system": false,
	} {
		if got := In(namespace, nil, nil, agent).Reason("c2") == SystemNamespace; got != closed {
			t.Errorf("%s: closed %t", namespace, got)
		}
		if In(namespace, map[string]string{names.LabelExports: names.ExportsAllowed}, nil, agent).Reason("c2") != "" {
			t.Errorf("%s: the label does not open it", namespace)
		}
	}
	for _, wrong := range []string{"*", "", "[a-", "a/b", "Shop", "a?"} {
		if ParseClosed([]string{wrong}) == nil {
			t.Errorf("%q is accepted", wrong)
		}
	}
}
