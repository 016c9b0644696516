package dnswiring

import (
	"slices"
	"strings"
	"testing"
)

// withCustom is a Corefile and the keys of coredns-custom.
func withCustom(text string, data ...string) Cluster {
	c := coreDNS(text)
	c.Custom = configMap("coredns-custom", data...)
	return c
}

// CoreDNS is never left with a configuration that it does not start with, and no name is left to another block.
func TestNothingIsWrittenThatDoesNotStart(t *testing.T) {
	for _, test := range []struct {
		name    string
		cluster Cluster
		forms   []Form // as detected, if empty
		want    string
	}{
		{"one imported file", withCustom(root+"import custom/one.file\n", "one.file", "clusterset.local:53 {\n}\n"), nil, `the server block "clusterset.local:53" in line 1 of the key one.file of configmap kube-system/coredns-custom`},
		{"all files", withCustom(root+"import /etc/coredns/custom/*\n", "x", "CLUSTERSET.local. {\n}\n"), nil, "of the key x of configmap kube-system/coredns-custom"},
		{"a file of a file", withCustom(root+"import custom/*.server\n", "a.server", "import b.zone\n", "b.zone", "clusterset.local {\n}\n"), nil, "of the key b.zone"},
		{"a key of the same ConfigMap", Cluster{CoreDNS: configMap("coredns", "Corefile", root+"import more.conf\n", "more.conf", "clusterset.local {\n}\n")}, nil, "of the key more.conf of configmap kube-system/coredns"},
		{"a snippet of blocks", coreDNS("(z) {\n clusterset.local {\n }\n}\nimport z\n" + root), nil, `the server block "clusterset.local" in line 2`},
		{"a plugin of a snippet", coreDNS("(z) {\n forward clusterset.local 10.0.0.1\n}\n.:53 {\n import z\n kubernetes cluster.local\n}\n"), nil, `the directive "forward clusterset.local 10.0.0.1" in line 2`},
		{"a plugin of a file", withCustom(".:53 {\n import custom/*.override\n kubernetes cluster.local\n}\n", "a.override", "forward clusterset.local 10.0.0.1\n"), nil, "in line 1 of the key a.override of configmap kube-system/coredns-custom"},
		{"coredns-custom has it, the Corefile is asked for", withKeys("mine.server", "clusterset.local {\n}\n"), []Form{CoreDNS}, "of the key mine.server"},
		{"a variable port", coreDNS(".:{$P} {\n kubernetes cluster.local\n}\nclusterset.local:1053 {\n}\n"), nil, "is already served"},
		{"a variable zone", coreDNS(root + "{$Z}:53 {\n}\n"), nil, `it is unknown whether the server block "{$Z}:53" in line 5 serves clusterset.local`},
		{"a variable key", coreDNS("{$K} {\n kubernetes cluster.local\n}\n"), nil, `write the key as ZONE:PORT`},
		{"it does not start now", coreDNS(root + ". {\n}\n"), nil, "CoreDNS does not start with this configuration: configmap kube-system/coredns: line 5: the server block \".\" serves the zone ."},
		{"a key of it does not start", withKeys("a.server", "a.example {\n}\n", "b.server", "a.example {\n}\n"), nil, "configmap kube-system/coredns-custom: key b.server: line 1: the server block \"a.example\""},
		{"a file that is not there", withCustom(root+"import custom/no.file\n", "x", ""), nil, "line 5: the file custom/no.file to import does not exist"},
		{"a block for all services", coreDNS(root + "svc.clusterset.local {\n}\n"), nil, `svc.clusterset.local is already served by the server block "svc.clusterset.local" in line 5`},
		{"a block for all services, in a key", withKeys("a.server", "svc.clusterset.local {\n}\n"), nil, "of the key a.server"},
		{"OpenShift's server for all services", openShiftZones("Svc.clusterset.local"), nil, `svc.clusterset.local is already served by the server "b"`},
		{"a stub domain for all services", Cluster{KubeDNSRuns: true, KubeDNS: configMap("kube-dns", "stubDomains", `{"svc.clusterset.local.": ["10.0.0.1"]}`)}, nil, "svc.clusterset.local is already served by stubDomains"},
		{"a pattern that our key is in twice", withCustom(".:53 {\n import custom/*.x\n kubernetes cluster.local\n}\nimport custom/*.x\n", "a.y", ""), nil, "a server block cannot be added"},
	} {
		t.Run(test.name, func(t *testing.T) {
			forms := test.forms
			if forms == nil {
				forms = must(Detect(test.cluster))
			}
			if changes, err := Install(test.cluster, wiring, forms); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got error %v and changes\n%s\nwant error %s", err, describe(nil, changes), test.want)
			}
		})
	}
}

func openShiftZones(zone string) Cluster {
	c := openShift("b")
	c.OpenShift.Object["spec"].(map[string]any)["servers"].([]any)[0].(map[string]any)["zones"] = []any{zone}
	return c
}

// CoreDNS reads a file that is not UTF-8 like any other, and the API has it in binaryData.
func TestBinaryData(t *testing.T) {
	inBinary := func(key, text string) Cluster {
		c := withCustom(root + "import custom/*.server\n")
		c.Custom.BinaryData = map[string][]byte{key: []byte(text)}
		return c
	}
	main := coreDNS(root)
	main.CoreDNS.Data, main.CoreDNS.BinaryData = nil, map[string][]byte{"Corefile": []byte("# caf\xe9\n" + root)}
	for _, test := range []struct {
		name    string
		cluster Cluster
		want    string
	}{
		{"a block", inBinary("a.server", "# caf\xe9\nclusterset.local {\n}\n"), `the server block "clusterset.local" in line 2 of the key a.server of configmap kube-system/coredns-custom`},
		{"our key", inBinary("atoll.server", "# caf\xe9\n"), "the key atoll.server exists, but Atoll did not write it"},
		{"the Corefile", main, "the value of key Corefile is not valid UTF-8"},
	} {
		if _, err := Install(test.cluster, wiring, must(Detect(test.cluster))); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %s", test.name, err, test.want)
		}
	}
	if changes := must(Install(inBinary("a.server", "# caf\xe9\n"), wiring, []Form{CoreDNSCustom})); changes[0].None() {
		t.Error("another file prevents the wiring")
	}
}

// Atoll's blocks are where the block that answers cluster.local is.
func TestListeners(t *testing.T) {
	for _, test := range []struct {
		name, text string
		ports      []string
		want       string // the keys and bind directives of Atoll's blocks
	}{
		{"one block", root, nil, "clusterset.local:53"},
		{"the default port", ". {\n kubernetes\n}\n", nil, "clusterset.local"},
		{"two ports", ".:53 .:1053 tls://.:853 {\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 clusterset.local:1053"},
		{"two blocks", ".:53 {\n kubernetes cluster.local\n}\ncluster.local:1053 {\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 clusterset.local:1053"},
		{"two addresses", ".:53 {\n bind 10.0.0.1\n bind 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1 bind 10.0.0.2"},
		{"two blocks at two addresses", ".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\n.:1053 {\n bind lo\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1|clusterset.local:1053 bind lo"},
		{"more addresses in another block", ".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\ncluster.local:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1 10.0.0.2"},
		{"overlapping addresses", ".:53 {\n bind 10.0.0.1 10.0.0.3\n kubernetes cluster.local\n}\ncluster.local:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1 10.0.0.3 10.0.0.2"},
		{"addresses in another order", ".:53 {\n bind 10.0.0.2 10.0.0.1\n kubernetes cluster.local\n}\ncluster.local:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.2 10.0.0.1"},
		{"addresses in two lines", ".:53 {\n bind 10.0.0.1\n bind 10.0.0.2\n kubernetes cluster.local\n}\ncluster.local:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1 bind 10.0.0.2"},
		{"a block that joins two", ".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\na.cluster.local:53 {\n bind 10.0.0.2\n kubernetes a.cluster.local\n}\ncluster.local:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1 10.0.0.2"},
		{"exceptions stay", "b.example:53 {\n bind eth0 10.0.0.3\n}\n.:53 {\n bind eth0 {\n except 10.0.0.9\n }\n kubernetes cluster.local\n}\ncluster.local:53 {\n bind eth0 10.0.0.2\n kubernetes cluster.local\n}\na.cluster.local:53 {\n bind 10.0.0.3 10.0.0.2\n kubernetes a.cluster.local\n}\n", nil, "clusterset.local:53 bind eth0 {\n        except 10.0.0.9\n    } bind 10.0.0.2 10.0.0.3"},
		{"one block without bind", ".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\ncluster.local:53 {\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53"},
		{"overlapping at one of two ports", ".:53 .:1053 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\ncluster.local:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1 10.0.0.2|clusterset.local:1053 bind 10.0.0.1"},
		{"a snippet", "(s) {\n bind 10.0.0.1\n kubernetes cluster.local\n}\n. {\n import s\n}\n", nil, "clusterset.local bind 10.0.0.1"},
		{"a variable port", ".:{$P} {\n kubernetes cluster.local\n}\n", nil, "clusterset.local:{$P}"},
		{"a variable zone", "{$Z}:1053 {\n kubernetes {$Z}\n}\n", nil, "clusterset.local:1053"},
		{"a variable zone beside the root", "{$Z}:1053 .:53 {\n kubernetes {$Z}\n}\n", nil, "clusterset.local:53"},
		{"another root", ".:53 {\n bind 127.0.0.1\n forward . 10.0.0.1\n}\n.:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 10.0.0.1"},
		{"a block of addresses", "in-addr.arpa:5353 {\n kubernetes\n}\ncluster.local:53 {\n kubernetes\n}\n", nil, "clusterset.local:53"},
		{"a block that queries do not reach", "debug.example:5353 {\n kubernetes cluster.local\n}\n.:53 {\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53"},
		{"another domain", ".:53 {\n kubernetes corp.example\n}\n", nil, "clusterset.local:53"},
		{"no kubernetes", "a.example:5353 .:53 {\n forward . 10.0.0.1\n}\n", nil, "clusterset.local:53"},
		{"a cache that forwards the cluster's domain at more addresses", "cluster.local:53 {\n bind 169.254.20.10 10.96.0.10\n forward . 10.96.0.11\n}\n.:53 {\n bind 169.254.20.10\n forward . 10.0.0.1\n}\n", nil, "clusterset.local:53 bind 169.254.20.10 10.96.0.10"},
		{"a cache that forwards the cluster's domain elsewhere", "cluster.local:53 {\n bind 169.254.20.10\n forward . 10.96.0.11\n}\n.:53 {\n bind 169.254.20.11\n forward . 10.0.0.1\n}\n", nil, "clusterset.local:53 bind 169.254.20.10|clusterset.local:53 bind 169.254.20.11"},
		{"pods use another block", ".:1053 {\n kubernetes cluster.local\n}\n.:53 {\n forward . 127.0.0.1:1053\n}\n", []string{"53"}, "clusterset.local:1053 clusterset.local:53"},
		{"pods use one of the blocks", ".:1053 {\n kubernetes cluster.local\n}\n.:53 {\n forward . 127.0.0.1:1053\n}\n", []string{"1053"}, "clusterset.local:1053"},
		{"pods use another address", "cluster.local:53 {\n bind 127.0.0.1 ::1\n kubernetes cluster.local\n}\n.:53 {\n bind 10.0.0.1\n forward . 127.0.0.1\n}\n", nil, "clusterset.local:53 bind 10.0.0.1"},
		{"pods use another address and port", "cluster.local:1053 {\n bind lo\n kubernetes cluster.local\n}\n.:53 {\n forward . 127.0.0.1:1053\n}\n", []string{"53"}, "clusterset.local:53"},
		{"all addresses are the node's", ".:53 {\n bind 127.0.0.1\n kubernetes cluster.local\n}\n", nil, "clusterset.local:53 bind 127.0.0.1"},
		{"pods use no block", root, []string{"5353"}, "clusterset.local:53"},
	} {
		c := coreDNS(test.text)
		c.Ports = test.ports
		changes, err := Install(c, wiring, []Form{CoreDNS})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		var got []string
		file, err := c.with(changes).coreDNS().assemble()
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range file.Blocks {
			if strings.HasPrefix(b.Keys[0], "clusterset.local") {
				got = append(got, strings.Join(append(slices.Clone(b.Keys), binds(b)...), " "))
			}
		}
		if got := strings.Join(got, "|"); got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// What the wiring changes for others, and what Atoll cannot see, is said.
func TestNotes(t *testing.T) {
	reload := strings.ReplaceAll(root, "errors", "errors\n reload")
	inRoot := func(directive string) Cluster { return coreDNS(strings.ReplaceAll(reload, "errors", directive)) }
	for _, test := range []struct {
		name    string
		cluster Cluster
		want    string // "" for no note
	}{
		{"nothing", coreDNS(reload), ""},
		{"reload in a snippet", coreDNS("(r) {\n reload\n}\n" + strings.ReplaceAll(root, "errors", "import r")), ""},
		{"no reload", coreDNS(root), "does not enable the reload plugin"},
		{"one service", coreDNS(reload + "web.shop.svc.clusterset.local {\n}\n"), `the server block "web.shop.svc.clusterset.local" in line 6 answers queries for names in web.shop.svc.clusterset.local`},
		{"OpenShift's server for one service", openShiftZones("web.shop.svc.clusterset.local"), `the server "b" answers queries for names in web.shop`},
		{"a stub domain for one service", Cluster{KubeDNSRuns: true, KubeDNS: configMap("kube-dns", "stubDomains", `{"web.shop.svc.clusterset.local": ["10.0.0.1"]}`)}, "stubDomains answers queries for names in web.shop"},
		{"a server of its own at one address", coreDNS(".:53 {\n reload\n bind 10.0.0.1\n kubernetes cluster.local\n}\ncluster.local:53 {\n kubernetes cluster.local\n}\n"), "Queries to 10.0.0.1 do not reach Atoll's server block"},
		{"a server of its own on loopback", coreDNS(".:53 {\n reload\n bind lo\n kubernetes cluster.local\n}\ncluster.local:53 {\n kubernetes cluster.local\n}\n"), ""},
		{"files elsewhere", coreDNS(reload + "import /etc/coredns/zones/*.conf\n"), "imports /etc/coredns/zones/*.conf, which Atoll cannot read"},
		{"a rewrite", inRoot("rewrite name suffix .clusterset.local .cluster.local"), `the line "rewrite name suffix .clusterset.local .cluster.local" of the directive rewrite in line 2 no longer applies`},
		{"a rewrite by pattern", inRoot(`rewrite name regex (.*)\.svc\.clusterset\.local$ {1}.x`), "no longer applies"},
		{"a rewrite by pattern with classes", inRoot(`rewrite name regex (.*)[.]clusterset[.]local {1}.x`), "no longer applies"},
		{"a rewrite by pattern with any end", inRoot(`rewrite name regex (.*)\.svc\.clusterset\..* {1}.x`), "no longer applies"},
		{"a rewrite by pattern in a body", inRoot("rewrite {\n name regex (.*)\\.svc\\.clusterset\\.[a-z]+\\.$ {1}.x\n }"), "no longer applies"},
		{"a rewrite by pattern for others", inRoot(`rewrite name regex (.*)\.svc\.other\..* {1}.x`), ""},
		{"a pattern that is not valid", inRoot(`rewrite name regex (.* {1}.x`), ""},
		{"a template by pattern", inRoot("template IN A . {\n match ^[a-z.]*[.]clusterset[.][a-z]*[.]$\n rcode NXDOMAIN\n fallthrough\n }"), "of the directive template in line 2 no longer applies"},
		{"a file of hosts", withHosts("10.0.0.1 a.example\n10.0.0.2 b.example web.shop.svc.clusterset.local # x\n"), `the line "10.0.0.2 b.example web.shop.svc.clusterset.local" of the key NodeHosts of configmap kube-system/coredns, a file of the directive hosts in line 3`},
		{"a file of other hosts", withHosts("10.0.0.1 a.example # web.shop.svc.clusterset.local\n"), ""},
		{"a host", inRoot("hosts {\n 10.0.0.1 web.shop.svc.ClusterSet.local\n fallthrough\n }"), `the line "10.0.0.1 web.shop.svc.ClusterSet.local" of the directive hosts in line 2`},
		{"a rewrite into the zone", inRoot("rewrite name web.example.com web.shop.svc.clusterset.local"), "CoreDNS has chosen the server block before"},
		{"a rewrite into the zone by suffix", inRoot("rewrite stop name suffix .example.com .svc.clusterset.local"), "CoreDNS has chosen the server block before"},
		{"a name that only looks alike", inRoot("rewrite name a.myclusterset.local b"), ""},
		{"Flux", owned(coreDNS(reload), "kustomize.toolkit.fluxcd.io/name", "x"), "Flux applies the ConfigMap"},
		{"Flux's Helm", owned(coreDNS(reload), "helm.toolkit.fluxcd.io/name", "x"), "Flux applies the ConfigMap"},
		{"Argo CD", owned(coreDNS(reload), "argocd.argoproj.io/instance", "x"), "Argo CD applies the ConfigMap"},
		{"Gardener", owned(withCustom(reload+"import custom/*.server\n"), "resources.gardener.cloud/managed-by", "gardener"), "at port 1053"},
		{"another port", coreDNS(reload + ".:1053 {\n rewrite name a.clusterset.local b\n}\n"), ""},
	} {
		var all []string
		for _, c := range must(Install(test.cluster, wiring, must(Detect(test.cluster)))) {
			all = append(all, c.Warnings...)
		}
		if got := strings.Join(all, "\n"); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// withHosts is a Corefile with a file of hosts, as k3s has it.
func withHosts(text string) Cluster {
	c := coreDNS(".:53 {\n reload\n hosts /etc/coredns/NodeHosts {\n  fallthrough\n }\n kubernetes cluster.local\n}\n")
	c.CoreDNS.Data["NodeHosts"] = text
	return c
}

// owned sets a label of the Corefile's ConfigMap.
func owned(c Cluster, label, value string) Cluster {
	c.CoreDNS.Labels = map[string]string{label: value}
	return c
}

// What the API server would refuse is said before, with what the owner has to write.
func TestImmutable(t *testing.T) {
	yes := true
	c := owned(coreDNS(root), "kustomize.toolkit.fluxcd.io/name", "x")
	c.CoreDNS.Immutable = &yes
	_, err := Install(c, wiring, []Form{CoreDNS})
	if err == nil || !strings.Contains(err.Error(), "configmap kube-system/coredns: the ConfigMap is immutable, so Atoll cannot change it. Flux applies") || !strings.Contains(err.Error(), "Corefile:\n"+markBegin+"\nclusterset.local:53 {") {
		t.Errorf("got error %v", err)
	}
	wired := coreDNS(root)
	wired = wired.with(must(Install(wired, wiring, []Form{CoreDNS})))
	wired.CoreDNS.Immutable = &yes
	if changes, err := Install(wired, wiring, []Form{CoreDNS}); err != nil || !changes[0].None() {
		t.Errorf("it is as it has to be: %v, %v", changes, err)
	}
	if _, err := Uninstall(wired, Forms()); err == nil || !strings.Contains(err.Error(), "remove Atoll's section") {
		t.Errorf("uninstalling: %v", err)
	}
}

// Each of two caches has its own Corefile, at its own addresses.
func TestNodeLocalKeys(t *testing.T) {
	is := Cluster{NodeLocal: configMap("nodelocaldns", "Corefile", ".:53 {\n bind 169.254.25.10\n reload\n}\n", "Corefile-second", ".:53 {\n bind 169.254.25.11\n reload\n}\n", "other", "x")}
	was := is.text(t)
	is = is.with(must(Install(is, wiring, must(Detect(is)))))
	for key, address := range map[string]string{"Corefile": "bind 169.254.25.10", "Corefile-second": "bind 169.254.25.11"} {
		if _, ours, _ := strings.Cut(is.NodeLocal.Data[key], markBegin); !strings.Contains(ours, address) {
			t.Errorf("%s: %q", key, ours)
		}
	}
	if diff := is.with(must(Uninstall(is, Forms()))).text(t); diff != was {
		t.Errorf("it was %s, and is %s", was, diff)
	}
	is.NodeLocal.Data["Corefile-second"] = ".:53 {\n}\nclusterset.local {\n}\n"
	if _, err := Install(is, wiring, []Form{NodeLocal}); err == nil || !strings.Contains(err.Error(), "of the key Corefile-second of configmap kube-system/nodelocaldns") {
		t.Errorf("got error %v", err)
	}
}

// An import is of coredns-custom only where the pods have that ConfigMap.
func TestImportedDirectories(t *testing.T) {
	other := configMap("zones", "a.conf", "a.example {\n}\n")
	for _, test := range []struct {
		name, text string
		mounts     []Mount
		want       Form
	}{
		{"elsewhere", "import /etc/coredns/zones/*.conf\n", nil, CoreDNS},
		{"the usual directory", "import /etc/coredns/custom/*.conf\n", nil, CoreDNSCustom},
		{"mounted elsewhere", "import /zones/*.conf\n", []Mount{{Dir: "/zones", Name: "coredns-custom"}}, CoreDNSCustom},
		{"another ConfigMap", "import custom/*.conf\n", []Mount{{Dir: "/etc/coredns/custom", Name: "zones", ConfigMap: other}}, CoreDNS},
		{"nothing is mounted", "import custom/*.conf\n", []Mount{}, CoreDNS},
	} {
		c := coreDNS(root + test.text)
		c.Mounts = test.mounts
		if forms := must(Detect(c)); !slices.Equal(forms, []Form{test.want}) {
			t.Errorf("%s: %v", test.name, forms)
		}
	}
	c := coreDNS(root + "import custom/*.conf\n")
	c.Mounts = []Mount{{Dir: "/etc/coredns/custom", Name: "zones", ConfigMap: configMap("zones", "a.conf", "clusterset.local {\n}\n")}}
	if _, err := Install(c, wiring, []Form{CoreDNS}); err == nil || !strings.Contains(err.Error(), "of the key a.conf of configmap kube-system/zones") {
		t.Errorf("another ConfigMap's files are not read: %v", err)
	}
}

// CoreDNS's argument -dns.port is the port of keys without one.
func TestDefaultPort(t *testing.T) {
	c := coreDNS(". {\n kubernetes cluster.local\n}\n10.0.0.0/8 {\n}\n")
	c.DefaultPort, c.Ports = "1053", []string{"1053"}
	wired := c.with(must(Install(c, wiring, []Form{CoreDNS})))
	if text := wired.CoreDNS.Data["Corefile"]; !strings.Contains(text, "clusterset.local:1053 {") {
		t.Error(text)
	}
	if all := must(Inspect(wired, "clusterset.local", wiring.Servers)); !all[0].Forwards {
		t.Errorf("Atoll's own block: %v", all)
	}
	for text, want := range map[string]string{
		"clusterset.local:1053 {\n forward . 1.1.1.1\n}\n": "is already served by",
		".:1053 {\n}\n": "does not start",
	} {
		taken := coreDNS(c.CoreDNS.Data["Corefile"] + text)
		taken.DefaultPort, taken.Ports = c.DefaultPort, c.Ports
		if _, err := Install(taken, wiring, []Form{CoreDNS}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got error %v, want %s", text, err, want)
		}
	}
}
