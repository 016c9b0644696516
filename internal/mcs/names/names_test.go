package names

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseClusterID(t *testing.T) {
	for _, tt := range []struct {
		in string
		ok bool
	}{
		{"c1", true},
		{"1", true},
		{"c1.eu", true},
		{"721ab723-13bc-11e5-aec2-42010af0021e", true},
		{strings.Repeat("a", 63), true},
		{"", false},
		{strings.Repeat("a", 64), false},
		{"a.b.c", false},
		{"C1", false},
		{"c1.", false},
		{".c1", false},
		{"c_1", false},
		{"-c1", false},
		{"c1-", false},
		{"c1\n", false},
	} {
		id, err := ParseClusterID(tt.in)
		if (err == nil) != tt.ok {
			t.Errorf("ParseClusterID(%q) = %q, %v, want ok=%v", tt.in, id, err, tt.ok)
		}
	}
}

func TestReadableNames(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{Export("c1", "shop", "web"), "web.shop.c1"},
		{Export("c1.eu", "shop", "web"), "web.shop.c1.eu"},
		{CatalogueEntry("shop", "web"), "web.shop"},
		{BrokerSlice("c1", "shop", "web-x7k2p"), "web-x7k2p.shop.c1"},
		{ImportedSlice("c1", "web-x7k2p"), "web-x7k2p.c1"},
		{DerivedServices("web", false)[0], "web-clusterset"},
		{DerivedServices("web", true)[0], "web-clusterset-headless"},
		{ClusterIPSlice("web", "IPv4"), "web:ipv4"},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

var (
	subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)
	rfc1035   = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)
)

// small alphabets and lengths make collisions likely wherever they are possible.
func drawLabel(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.StringMatching(`[ab1]`),
		rapid.StringMatching(`[ab1]-?[ab1]`),
		rapid.StringMatching(`[ab1][ab1-]{58,61}[ab1]`),
	).Draw(t, name)
}

func drawCluster(t *rapid.T, name string) ClusterID {
	return ClusterID(rapid.OneOf(
		rapid.StringMatching(`[ab]`),
		rapid.StringMatching(`[ab]\.[ab]`),
		rapid.StringMatching(`[ab]{30}\.[ab]{32}`),
	).Draw(t, name))
}

func drawSlice(t *rapid.T, name string) string {
	return rapid.OneOf(
		rapid.StringMatching(`[ab](-[ab])?`),
		rapid.StringMatching(`[ab]\.[ab](\.[ab])?`),
		rapid.StringMatching(`([ab]{50}\.){4}[ab]{20,49}`),
		rapid.StringMatching(`[ab]{249,253}`),
		rapid.StringMatching(`[ab](-[ab])?:ipv[46]`), // slice of a cluster IP
		rapid.StringMatching(`[ab](-[ab])?-ipv[46]`), // similar name
	).Draw(t, name)
}

// Pitfall 1: no two objects have the same name, whatever the names of clusters, namespaces,
// services and slices.
func TestNamesAreInjectiveAndValid(t *testing.T) {
	type origin struct {
		cluster          ClusterID
		namespace, slice string
	}
	rapid.Check(t, func(t *rapid.T) {
		draw := func(n string) origin {
			return origin{drawCluster(t, "cluster"+n), drawLabel(t, "namespace"+n), drawSlice(t, "slice"+n)}
		}
		a, b := draw("A"), draw("B")
		for _, of := range []struct {
			kind string
			name func(origin) string
			same bool
		}{
			{"broker slice", func(o origin) string { return BrokerSlice(o.cluster, o.namespace, o.slice) }, a == b},
			{"imported slice", func(o origin) string { return ImportedSlice(o.cluster, o.slice) }, a.cluster == b.cluster && a.slice == b.slice},
		} {
			nameA, nameB := of.name(a), of.name(b)
			if (nameA == nameB) != of.same {
				t.Fatalf("%s: %+v and %+v give %q and %q", of.kind, a, b, nameA, nameB)
			}
			if len(nameA) > maxObjectName || !subdomain.MatchString(nameA) {
				t.Fatalf("%s: %+v gives the invalid name %q", of.kind, a, nameA)
			}
		}
		serviceA, serviceB := drawLabel(t, "serviceA"), drawLabel(t, "serviceB")
		same := a.cluster == b.cluster && a.namespace == b.namespace && serviceA == serviceB
		if (Export(a.cluster, a.namespace, serviceA) == Export(b.cluster, b.namespace, serviceB)) != same {
			t.Fatalf("export: %+v/%s and %+v/%s", a, serviceA, b, serviceB)
		}
		same = a.namespace == b.namespace && serviceA == serviceB
		if (CatalogueEntry(a.namespace, serviceA) == CatalogueEntry(b.namespace, serviceB)) != same {
			t.Fatalf("aggregate: %s/%s and %s/%s", a.namespace, serviceA, b.namespace, serviceB)
		}
	})
}

// Pitfall 1: the same words, divided differently into service, namespace and cluster, result in
// another name.
func TestWordsDividedDifferently(t *testing.T) {
	words := []string{"a", "b", "c", "d"}
	for _, dot := range []string{"-", "."} { // slices and cluster ids may contain both
		seen := map[string]string{}
		check := func(kind, name, of string) {
			if other, ok := seen[kind+name]; ok {
				t.Errorf("%s %s and %s have the name %s", kind, of, other, name)
			}
			seen[kind+name] = of
		}
		for i := 1; i < len(words); i++ {
			service, rest := strings.Join(words[:i], "-"), strings.Join(words[i:], "-")
			check("aggregate", CatalogueEntry(rest, service), service+"/"+rest)
			check("imported slice", ImportedSlice(ClusterID(strings.Join(words[i:], dot)), strings.Join(words[:i], dot)), service+"/"+rest)
			for j := i + 1; j < len(words); j++ {
				namespace, cluster := strings.Join(words[i:j], "-"), ClusterID(strings.Join(words[j:], dot))
				of := service + "/" + namespace + "/" + cluster.String()
				check("export", Export(cluster, namespace, service), of)
				check("slice", BrokerSlice(cluster, namespace, strings.Join(words[:i], dot)), of)
			}
		}
	}
}

func TestDerivedServiceNames(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := drawLabel(t, "a"), drawLabel(t, "b")
		of := map[string]string{} // by the name given
		for _, service := range []string{a, b} {
			for _, headless := range []bool{false, true} {
				for i, name := range DerivedServices(service, headless) {
					what := fmt.Sprint(service, headless, i)
					if other := of[name]; other != "" && other != what {
						t.Fatalf("%s and %s are both named %q", other, what, name)
					}
					of[name] = what
					if len(name) > maxServiceName || !rfc1035.MatchString(name) {
						t.Fatalf("%s has the invalid name %q", what, name)
					}
				}
			}
		}
	})
}

func TestListClusters(t *testing.T) {
	for want, ids := range map[string][]string{
		"":                             nil,
		`"c1"`:                         {"c1"},
		`"c1", "c2", "c3", "c4", "c5"`: {"c1", "c2", "c3", "c4", "c5"},
		`"c1", "c2", "c3", "c4", "c5" and 2 more`: {"c1", "c2", "c3", "c4", "c5", "c6", "c7"},
	} {
		if got := ListClusters(ids); got != want {
			t.Errorf("%v: %s", ids, got)
		}
	}
}
