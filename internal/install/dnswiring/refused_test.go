package dnswiring

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// configMap makes one of keys and values by turns.
func configMap(name string, data ...string) *corev1.ConfigMap {
	cm := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name}, Data: map[string]string{}}
	for i := 0; i < len(data); i += 2 {
		cm.Data[data[i]] = data[i+1]
	}
	return cm
}

func coreDNS(text string) Cluster { return Cluster{CoreDNS: configMap("coredns", "Corefile", text)} }

// custom is a cluster with one key in coredns-custom.
func custom(key, text string) Cluster {
	c := coreDNS(".:53 {\n kubernetes cluster.local\n}\nimport custom/*.server\n")
	c.Custom = configMap("coredns-custom", key, text)
	return c
}

func openShift(server string) Cluster {
	return Cluster{OpenShift: &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"name": "default"},
		"spec": map[string]any{"servers": []any{
			map[string]any{"name": server, "zones": []any{"Clusterset.Local"}, "forwardPlugin": map[string]any{"upstreams": []any{"10.0.0.1"}}},
		}},
	}}}
}

const root = ".:53 {\n errors\n kubernetes cluster.local in-addr.arpa\n}\n"

// What somebody else has seen to, and what would break a cluster's DNS, is refused, in words
// that name the place.
func TestRefused(t *testing.T) {
	nodeLocal := coreDNS(root)
	nodeLocal.NodeLocal = configMap("node-local-dns", "Corefile", ".:53 {\n bind 169.254.20.10\n}\n")
	nodeLocal.KubeDNS = configMap("kube-dns", "stubDomains", `{"clusterset.local": ["10.0.0.1"]}`)
	brokenRecord := configMap("kube-dns")
	brokenRecord.Annotations = map[string]string{names.AnnotationDNSWiring: "{"}

	for _, test := range []struct {
		name    string
		cluster Cluster
		zone    string // clusterset.local where it is empty
		want    string
	}{
		{
			"Lighthouse's block", coreDNS(root + "#lighthouse-start AUTO-GENERATED SECTION. DO NOT EDIT\nclusterset.local:53 {\n forward . 10.0.0.1\n}\n#lighthouse-end\n"), "",
			`clusterset.local is already served by the server block "clusterset.local:53" in line 6 of configmap kube-system/coredns`,
		},
		{"a block without port", coreDNS(root + "a.example Clusterset.Local. {\n}\n"), "", `the server block "a.example Clusterset.Local." in line 5`},
		{"a block with scheme", coreDNS(root + "dns://clusterset.local {\n}\n"), "", "is already served by"},
		{
			"the in-tree option", coreDNS(".:53 {\n kubernetes cluster.local clusterset.local {\n multicluster clusterset.local\n }\n}\n"), "",
			"by the option multicluster of the plugin kubernetes in line 2 of configmap kube-system/coredns: CoreDNS itself answers",
		},
		{"the external plugin", coreDNS(".:53 {\n multicluster clusterset.local\n kubernetes cluster.local\n}\n"), "", `by the directive "multicluster clusterset.local" in line 2`},
		{"a forwarder", coreDNS(".:53 {\n forward clusterset.local 10.0.0.1\n}\n"), "", `by the directive "forward clusterset.local 10.0.0.1" in line 2`},
		{"the cluster's own zone", coreDNS(root), "cluster.local", `by the directive "kubernetes cluster.local in-addr.arpa" in line 3`},
		{"a range of addresses", coreDNS(root + "10.100.0.0/15 {\n}\n"), "101.10.in-addr.arpa", "is already served by"},
		{"another key of coredns-custom", custom("lighthouse.server", "clusterset.local:53 {\n}\n"), "", "of the key lighthouse.server of configmap kube-system/coredns-custom"},
		{"our key, not ours", custom("atoll.server", "# mine\n"), "", "configmap kube-system/coredns-custom: the key atoll.server exists, but Atoll did not write it"},
		{"an unreadable key", custom("a.server", "a.example {\n"), "", "configmap kube-system/coredns-custom: key a.server: line 1: found { without a matching }"},
		{"a key with an open directive", withCustom(".:53 {\n import custom/*.override\n kubernetes cluster.local\n}\n", "x.override", "log\nhosts {\n 10.0.0.1 a\n"), "", "configmap kube-system/coredns-custom: key x.override: line 2: found { without a matching }"},
		{"a key with a brace too many", withCustom(".:53 {\n import custom/*.override\n kubernetes cluster.local\n}\n", "x.override", "log\n}\n"), "", "configmap kube-system/coredns-custom: key x.override: line 2: found } without a matching {"},
		{"a main block beside coredns-custom", Cluster{CoreDNS: configMap("coredns", "Corefile", root+"clusterset.local {\n}\nimport custom/*.server\n")}, "", "configmap kube-system/coredns,"},
		{"a server of OpenShift", openShift("lighthouse"), "", `by the server "lighthouse" of dns.operator.openshift.io default`},
		{"OpenShift's server of our name", openShift("atoll"), "", "has a server atoll that Atoll did not write"},
		{"a stub domain", Cluster{KubeDNSRuns: true, KubeDNS: configMap("kube-dns", "stubDomains", `{"Clusterset.local.": ["10.0.0.1"]}`)}, "", "by stubDomains of configmap kube-system/kube-dns"},
		{"a stub domain of NodeLocal DNSCache", nodeLocal, "", "by stubDomains of configmap kube-system/kube-dns"},
		{"stub domains that are no JSON", Cluster{KubeDNSRuns: true, KubeDNS: configMap("kube-dns", "stubDomains", "example.com: 10.0.0.1")}, "", "stubDomains is not a JSON object"},
		{"stub domains that are null", Cluster{KubeDNSRuns: true, KubeDNS: configMap("kube-dns", "stubDomains", "null")}, "", "the value is null"},
		{"a broken record", Cluster{KubeDNSRuns: true, KubeDNS: brokenRecord}, "", "kube-system/kube-dns: reading the annotation atoll.dev/dns-wiring"},
		{"no braces", coreDNS(".:53\nforward . 1.1.1.1\n"), "", "configmap kube-system/coredns: line 1: the server block has no braces"},
		{"no server", coreDNS("# nothing\n"), "", "no server block of the Corefile serves the root zone"},
		{"no Corefile", Cluster{CoreDNS: configMap("coredns")}, "", "has no key Corefile"},
		{"a quote that would swallow it", coreDNS(root + "import \"x"), "", "a server block cannot be added to this Corefile"},
		{"two marked parts", coreDNS(root + strings.Repeat("# BEGIN atoll\n# END atoll\n", 2)), "", "exists twice"},
		{"half a marked part", coreDNS(root + "# BEGIN atoll: made\n"), "", "has no matching end marker"},
	} {
		t.Run(test.name, func(t *testing.T) {
			w := wiring
			if test.zone != "" {
				w.Zones = []string{test.zone}
			}
			before := test.cluster.text(t)
			changes, err := Install(test.cluster, w, must(Detect(test.cluster)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v and changes\n%s\nwant error %s", err, describe(nil, changes), test.want)
			}
			if test.cluster.text(t) != before {
				t.Error("it was changed all the same")
			}
		})
	}
}

// What only mentions the zone does not keep it.
func TestNotClaimed(t *testing.T) {
	for name, c := range map[string]Cluster{
		"another port":                 coreDNS(root + "clusterset.local:5353 {\n}\n"),
		"another transport":            coreDNS(root + "tls://clusterset.local {\n}\n"),
		"one service":                  coreDNS(root + "web.shop.svc.clusterset.local {\n}\n"),
		"metadata and keys":            coreDNS(".:53 {\n metadata clusterset.local\n tsig clusterset.local {\n }\n kubernetes cluster.local\n}\n"),
		"a zone above":                 coreDNS(root + "local {\n}\n"),
		"a plugin elsewhere":           coreDNS(root + "local:1053 {\n forward clusterset.local 10.0.0.1\n}\n"),
		"a log":                        coreDNS(".:53 {\n log clusterset.local\n rewrite name a clusterset.local\n}\n"),
		"a file's name":                coreDNS(".:53 {\n kubernetes cluster.local\n file clusterset.local corp.example\n hosts clusterset.local\n}\n"),
		"a comment":                    coreDNS(root + "# clusterset.local {\n"),
		"the option, for another zone": coreDNS(".:53 {\n kubernetes cluster.local set.example {\n multicluster set.example\n }\n}\n"),
		"a key with another ending":    custom("lighthouse.override", "forward clusterset.local 10.0.0.1\n"),
	} {
		if _, err := Install(c, wiring, must(Detect(c))); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestWiringValidate(t *testing.T) {
	ip := netip.MustParseAddr("10.0.0.1")
	for name, w := range map[string]Wiring{
		"no zone":          {Servers: []netip.Addr{ip}},
		"no server":        {Zones: []string{"a.b"}},
		"no name":          {Zones: []string{"a_b"}, Servers: []netip.Addr{ip}},
		"the root":         {Zones: []string{""}, Servers: []netip.Addr{ip}},
		"an injection":     {Zones: []string{"a {\n}\nb"}, Servers: []netip.Addr{ip}},
		"twice":            {Zones: []string{"a.b", "a.b"}, Servers: []netip.Addr{ip}},
		"a loopback":       {Zones: []string{"a.b"}, Servers: []netip.Addr{netip.MustParseAddr("::1")}},
		"a scoped address": {Zones: []string{"a.b"}, Servers: []netip.Addr{netip.MustParseAddr("fe80::1%eth0")}},
		"no address":       {Zones: []string{"a.b"}, Servers: []netip.Addr{{}}},
	} {
		if w.Validate() == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	if err := wiring.Validate(); err != nil {
		t.Error(err)
	}
}

func TestDetectNothing(t *testing.T) {
	if _, err := Detect(Cluster{KubeDNS: configMap("kube-dns")}); !errors.Is(err, ErrUnknown) {
		t.Errorf("got %v", err)
	}
}

// Every form says what it misses where a person names it that is not there.
func TestFormNotThere(t *testing.T) {
	for _, form := range Forms() {
		changes, err := Install(Cluster{}, wiring, []Form{form})
		if (err == nil) != (form == KubeDNS) { // which works without a ConfigMap, and so can be given one
			t.Errorf("%s: %v %v", form, changes, err)
		}
		if changes, err := Uninstall(Cluster{}, []Form{form}); err != nil || len(changes) > 0 {
			t.Errorf("%s: uninstalling %v %v", form, changes, err)
		}
	}
}
