package dnswiring

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// Every wiring that works is taken for one, whoever made it, and none that does not.
func TestInspect(t *testing.T) {
	block := func(keys, to string) string { return keys + " {\n forward . " + to + "\n}\n" }
	stubs := func(json string) Cluster {
		return Cluster{KubeDNSRuns: true, KubeDNS: configMap("kube-dns", "stubDomains", json)}
	}
	rewriting := func(lines string) Cluster {
		return coreDNS(root + "clusterset.local {\n " + lines + "\n forward . 10.96.0.53\n}\n")
	}
	extra := func(lines ...string) Cluster { // an empty line is in place of the forwarder
		if len(lines) == 1 {
			lines = append(lines, "forward . 10.96.0.53")
		}
		return coreDNS(root + "clusterset.local {\n " + strings.Join(lines, "\n ") + "\n}\n")
	}
	k3s := coreDNS(root + "import custom/*.server\n")
	k3s = k3s.with(must(Install(k3s, wiring, []Form{CoreDNS})))
	more := coreDNS(root)
	moreZones := wiring
	moreZones.Zones = []string{"example.org", "clusterset.local"}
	more = more.with(must(Install(more, moreZones, []Form{CoreDNS})))
	caches := Cluster{NodeLocal: configMap("nodelocaldns", "Corefile", block(".:53", "10.0.0.1")+block("clusterset.local:53", "10.96.0.53"), "Corefile-second", block(".:53", "10.0.0.1"))}

	for name, test := range map[string]struct {
		cluster Cluster
		want    string // forwards, elsewhere, below
	}{
		"nothing":                                   {coreDNS(root), "false [] []"},
		"Atoll's block":                             {coreDNS(root + block("clusterset.local:53", "10.96.0.53")), "true [] []"},
		"by hand, without port":                     {coreDNS(root + block("dns://Clusterset.Local.", "dns://10.96.0.53:53")), "true [] []"},
		"more zones":                                {more, "true [] []"},
		"the Corefile, where custom files exist":    {k3s, "true [] []"},
		"a custom file":                             {withKeys("mine.server", block("clusterset.local", "10.96.0.53")), "true [] []"},
		"an imported file":                          {withCustom(root+"import custom/mine\n", "mine", block("clusterset.local", "10.96.0.53")), "true [] []"},
		"in the root block":                         {coreDNS(".:53 {\n kubernetes cluster.local\n forward clusterset.local 10.96.0.53\n forward . /etc/resolv.conf\n}\n"), "true [] []"},
		"a zone above":                              {coreDNS(root + block("local", "10.96.0.53")), "true [] []"},
		"all other names":                           {coreDNS(".:53 {\n kubernetes cluster.local\n forward . 10.96.0.53\n}\n"), "true [] []"},
		"only upstream":                             {coreDNS(".:53 {\n kubernetes cluster.local\n forward . /etc/resolv.conf\n}\n"), "false [] []"},
		"another server":                            {coreDNS(root + block("clusterset.local", "192.0.2.1 10.96.0.53")), "true [192.0.2.1] []"},
		"another port of the address":               {coreDNS(root + block("clusterset.local", "10.96.0.53:5353")), "true [10.96.0.53:5353] []"},
		"another port":                              {coreDNS(root + block("clusterset.local:1053", "10.96.0.53")), "false [] []"},
		"one of two ports":                          {coreDNS(".:53 .:1053 {\n kubernetes cluster.local\n}\n" + block("clusterset.local:53", "10.96.0.53")), "false [] []"},
		"another address":                           {coreDNS(".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\nclusterset.local {\n bind 10.0.0.2\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"an interface that may have the address":    {coreDNS(".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\nclusterset.local {\n bind eth0\n forward . 10.96.0.53\n}\n"), "unknown [] []"},
		"an interface that does not have it":        {coreDNS(".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\n.:53 clusterset.local {\n bind eth0\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a port that may be another":                {coreDNS(".:{$P} {\n kubernetes cluster.local\n}\nclusterset.local:53 {\n forward . 10.96.0.53\n}\n"), "unknown [] []"},
		"a root block that may be at the port":      {coreDNS(".:{$P} {\n kubernetes cluster.local\n}\ncluster.local:53 {\n kubernetes cluster.local\n}\n"), "false [] []"},
		"one of two addresses":                      {coreDNS(".:53 {\n bind 10.0.0.1 10.0.0.2\n kubernetes cluster.local\n}\nclusterset.local {\n bind 10.0.0.2\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"the services elsewhere":                    {coreDNS(root + block("clusterset.local", "10.96.0.53") + "svc.clusterset.local {\n}\n"), "false [] []"},
		"the services, by their own block":          {coreDNS(root + block("clusterset.local", "10.96.0.53") + block("svc.clusterset.local", "10.96.0.53")), "true [] []"},
		"only the services":                         {coreDNS(root + block("svc.clusterset.local", "10.96.0.53")), "false [] []"},
		"one service elsewhere":                     {coreDNS(root + block("clusterset.local", "10.96.0.53") + block("web.shop.svc.clusterset.local", "10.0.0.1")), `true [] [the server block "web.shop.svc.clusterset.local" in line 8 answers queries for names in web.shop.svc.clusterset.local, so atoll-dns does not receive these queries]`},
		"no forwarder":                              {coreDNS(root + "clusterset.local {\n hosts {\n }\n}\n"), "false [] []"},
		"it does not parse":                         {coreDNS(root + "clusterset.local {\n"), "false [] []"},
		"a stub domain":                             {stubs(`{"clusterset.local.": ["10.96.0.53"]}`), "true [] []"},
		"a stub domain elsewhere":                   {stubs(`{"clusterset.local": ["10.0.0.1"]}`), "true [10.0.0.1] []"},
		"a stub domain for the services":            {stubs(`{"clusterset.local": ["10.96.0.53"], "svc.clusterset.local": ["10.0.0.1"]}`), "true [10.0.0.1] []"},
		"a root block at one address":               {coreDNS(".:53 {\n bind eth0\n kubernetes cluster.local\n}\n" + block("clusterset.local:53", "10.96.0.53")), "false [] []"},
		"another root at one address":               {coreDNS(".:53 {\n bind 10.0.0.1\n kubernetes cluster.local\n}\ncluster.local:53 {\n kubernetes cluster.local\n}\n" + block("clusterset.local:53", "10.96.0.53")), "false [] []"},
		"a block at one address":                    {coreDNS(root + "clusterset.local:53 {\n bind eth0\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"except the services":                       {coreDNS(root + "clusterset.local {\n forward . 10.96.0.53 {\n except svc.clusterset.local\n }\n}\n"), "false [] []"},
		"except another zone":                       {coreDNS(".:53 {\n kubernetes cluster.local\n forward . 10.96.0.53 {\n except a.example\n }\n}\n"), "true [] []"},
		"a template":                                {coreDNS(root + "clusterset.local {\n template IN A clusterset.local {\n rcode NXDOMAIN\n }\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a template in the root block":              {coreDNS(".:53 {\n kubernetes cluster.local\n template IN A clusterset.local {\n rcode NXDOMAIN\n }\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a template for another zone":               {coreDNS(".:53 {\n kubernetes cluster.local\n template IN A a.example {\n rcode NXDOMAIN\n }\n forward . 10.96.0.53\n}\n"), "true [] []"},
		"an access list":                            {coreDNS(root + "clusterset.local {\n acl {\n block\n }\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a view":                                    {coreDNS(root + "clusterset.local {\n view x {\n expr false\n }\n forward . 10.96.0.53\n}\n"), "unknown [] []"},
		"a zone file":                               {coreDNS(root + "clusterset.local {\n file /x clusterset.local\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a zone file for the services":              {coreDNS(root + "clusterset.local {\n file /x svc.clusterset.local\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"an unknown plugin":                         {coreDNS(root + "clusterset.local {\n mine\n forward . 10.96.0.53\n}\n"), "unknown [] []"},
		"another forwarder":                         {extra("fanout . 10.96.0.53", ""), "unknown [] []"},
		"another forwarder in the root block":       {coreDNS(".:53 {\n kubernetes cluster.local\n fanout . 10.96.0.53\n}\n"), "unknown [] []"},
		"another forwarder of other servers":        {coreDNS(".:53 {\n kubernetes cluster.local\n fanout . 10.0.0.1\n}\n"), "false [] []"},
		"a second forwarder":                        {extra("alternate NXDOMAIN . 10.0.0.1"), "unknown [] []"},
		"an access list for a type":                 {extra("acl {\n block type AAAA\n }"), "unknown [] []"},
		"an access list for A":                      {extra("acl {\n block type A net *\n }"), "false [] []"},
		"an access list for some clients":           {extra("acl {\n allow net 10.0.0.0/8\n block\n }"), "unknown [] []"},
		"an access list that allows":                {extra("acl {\n allow net 10.0.0.0/8\n }"), "true [] []"},
		"a template for a type":                     {extra("template IN AAAA {\n rcode NOERROR\n }"), "unknown [] []"},
		"a template for another type":               {extra("template IN HTTPS {\n rcode NOERROR\n }"), "true [] []"},
		"a template for some names":                 {extra("template IN A {\n match ^web[.]\n rcode NXDOMAIN\n fallthrough\n }"), "unknown [] []"},
		"a template that fails for other names":     {extra("template IN A {\n match ^web[.]\n rcode NXDOMAIN\n }"), "false [] []"},
		"a template that leaves no name":            {extra("template ANY ANY {\n rcode NXDOMAIN\n fallthrough\n }"), "false [] []"},
		"a template for all services":               {extra("template IN A {\n match svc.clusterset.local\n rcode NXDOMAIN\n fallthrough\n }"), "false [] []"},
		"one name of hosts":                         {extra("hosts {\n 10.0.0.1 web.shop.svc.clusterset.local x.example\n fallthrough\n }"), `true [] [the directive "hosts" in line 6 answers queries for names in web.shop.svc.clusterset.local, so atoll-dns does not receive these queries]`},
		"a Corefile that is not known":              {Cluster{CoreDNS: configMap("coredns", "Corefile", root), Unclear: map[Form]error{CoreDNS: errors.New("two")}}, "unknown [] []"},
		"hosts that leave other names":              {coreDNS(".:53 {\n kubernetes cluster.local\n hosts /etc/coredns/NodeHosts {\n fallthrough\n }\n forward . 10.96.0.53\n}\n"), "true [] []"},
		"a plain block with extras":                 {coreDNS(root + "clusterset.local {\n errors\n log\n cache 30\n loop\n prometheus :9153\n forward . 10.96.0.53 {\n force_tcp\n }\n}\n"), "true [] []"},
		"a rewrite of names":                        {coreDNS(root + "clusterset.local {\n rewrite name suffix .clusterset.local .a.example\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a rewrite of all names, in the root block": {coreDNS(".:53 {\n kubernetes cluster.local\n rewrite stop name regex (.*)\\.local {1}.example\n forward . 10.96.0.53\n}\n"), "false [] []"},
		"a rewrite of all services":                 {rewriting("rewrite continue {\n name suffix .svc.clusterset.local. .a.example.\n }"), "false [] []"},
		"a rewrite of a part of all names":          {rewriting("rewrite name substring .clusterset .cluster"), "false [] []"},
		"a rewrite of another name":                 {rewriting("rewrite name exact foo.example. bar.example."), "true [] []"},
		"a rewrite of another name, in short":       {rewriting("rewrite name foo.example web.shop.svc.clusterset.local"), "true [] []"},
		"a rewrite of other names":                  {rewriting("rewrite stop name suffix .internal .svc"), "true [] []"},
		"a rewrite of no name":                      {rewriting("rewrite ttl suffix .clusterset.local 30\n rewrite type ANY HINFO\n rewrite class CH IN\n rewrite edns0 local set 0xffee abc"), "true [] []"},
		"a rewrite of some names":                   {rewriting("rewrite name prefix web. www.\n rewrite name regex ^(.*)\\.shop\\.svc\\.clusterset\\.local\\.$ {1}.a.svc.clusterset.local"), "true [] []"},
		"a rewrite of one service":                  {rewriting("rewrite name web.shop.svc.clusterset.local www.example"), `true [] [the directive "rewrite name web.shop.svc.clusterset.local www.example" in line 6 answers queries for names in web.shop.svc.clusterset.local, so atoll-dns does not receive these queries]`},
		"a rewrite of one service, in a block that receives no queries for it": {coreDNS(".:53 {\n kubernetes cluster.local\n rewrite name web.shop.svc.clusterset.local www.example\n}\n" + block("clusterset.local", "10.96.0.53")), "true [] []"},
		"the first forwarder counts": {coreDNS(".:53 {\n kubernetes cluster.local\n forward . /etc/resolv.conf\n forward clusterset.local 10.96.0.53\n}\n"), "false [] []"},
		"two blocks of the zone":     {coreDNS(root + block("clusterset.local", "10.96.0.53") + block("clusterset.local:53", "10.96.0.53")), `false [] [] CoreDNS does not start with this configuration: configmap kube-system/coredns: line 8: the server block "clusterset.local:53" serves the zone clusterset.local at the same address and port as the server block "clusterset.local" in line 5`},
		"no stub domain":             {stubs(`{}`), "false [] []"},
		"a server of OpenShift":      {openShift("mine"), "true [10.0.0.1] []"},
		"OpenShift without":          {openShiftZones("a.example"), "false [] []"},
		"one of two caches":          {caches, "false [] []"},
	} {
		all := must(Inspect(test.cluster, "clusterset.local", wiring.Servers))
		if len(all) != 1 {
			t.Fatalf("%s: %v", name, all)
		}
		forwards := fmt.Sprint(all[0].Forwards)
		if all[0].Unknown {
			forwards = "unknown"
		}
		if got := strings.TrimSuffix(fmt.Sprint(forwards, " ", all[0].Elsewhere, " ", all[0].Below, " ", all[0].Invalid), " "); got != test.want {
			t.Errorf("%s: got %s, want %s", name, got, test.want)
		}
	}
}
