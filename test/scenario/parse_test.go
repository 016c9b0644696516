package scenario

import (
	"flag"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

func TestParseErrorsSayWhere(t *testing.T) {
	for name, test := range map[string]struct{ script, want string }{
		"unknown verb":            {"# title\n\nfrobnicate c1\n", `x.txtar:3: unknown verb "frobnicate"`},
		"no verb":                 {"eventually 3s\n", "x.txtar:1: a verb is missing"},
		"only a negation":         {"!\n", "x.txtar:1: a verb is missing"},
		"nothing after then":      {"stdout a then\n", "x.txtar:1: a verb is missing"},
		"too few arguments":       {"cut c1\n", "x.txtar:1: usage: cut A B"},
		"too many arguments":      {"cut c1 c2 c3\n", "x.txtar:1: usage: cut A B"},
		"open quote":              {"stdout 'a\n", "x.txtar:1: quote without an end"},
		"unknown cluster":         {"on c4 kubectl get pods\n", `x.txtar:1: on: there is no cluster "c4" in a lab of 3`},
		"unknown among several":   {"on c1,x kubectl get pods\n", `x.txtar:1: on: there is no cluster "x" in a lab of 3`},
		"odd spelling of cluster": {"on c01 kubectl get pods\n", `x.txtar:1: on: there is no cluster "c01" in a lab of 3`},
		"broker has no pods":      {"http broker/shop/client http://x\n", `x.txtar:1: http: there is no cluster "broker" in a lab of 3`},
		"cluster beyond shape":    {"# lab: clusters=2\ncut c1 c3\n", `x.txtar:2: cut: there is no cluster "c3" in a lab of 2`},
		"unknown form":            {"on c1 make coffee\n", `x.txtar:1: on: unknown form "make"`},
		"missing file":            {"on c1 apply web.yaml -n shop\n", "x.txtar:1: on: the script has no file web.yaml"},
		"export of no service":    {"on c1 export web\n", "x.txtar:1: on: \"web\" is not NS/NAME"},
		"bad pattern":             {"stdout '('\n", "x.txtar:1: stdout: error parsing regexp: missing closing ): `(?m)(`"},
		"bad pod":                 {"http c1/client http://x\n", `x.txtar:1: http: "c1/client" is not CLUSTER/NS/POD`},
		"bad number of requests":  {"http c1/shop/client http://x 20\n", `x.txtar:1: http: "20" is not x1 to x1000`},
		"ambiguous negation":      {"! http c1/shop/client http://x x20\n", `x.txtar:1: http: of several requests some may fail: negate one request, or say "backends none"`},
		"bad backends":            {"backends c1=0\n", `x.txtar:1: backends: "c1=0" is not CLUSTER=N; omit a cluster that must not answer`},
		"bad count":               {"count c1 pods -n shop -l app=web\n", `x.txtar:1: count: "app=web" is not a number of objects`},
		"name and selector":       {"count c1 pod/a --field-selector status.phase=Running 1\n", "x.txtar:1: count: kubectl takes a name or a selector, not both; metadata.name=… is a field selector"},
		"bad condition":           {"condition c1 serviceexport shop/web Valid\n", `x.txtar:1: condition: "Valid" is not TYPE=STATUS[/REASON]`},
		"unknown unit":            {"kill c1/cloud\n", `x.txtar:1: kill: unknown unit "cloud" (known: etcd, apiserver, controller-manager, scheduler, kube-proxy, containerd, kubelet, agent, dns, hub, haproxy)`},
		"unit of the broker":      {"kill broker/agent\n", "x.txtar:1: kill: the broker has no agent"},
		"negated without sense":   {"! heal\n", "x.txtar:1: heal cannot be negated"},
		"steadily for how long":   {"steadily stdout a\n", `x.txtar:1: steadily: time: invalid duration "stdout"`},
		"unknown setting":         {"# lab: size=3\nheal\n", `x.txtar:1: lab: unknown setting "size" (known: clusters, nodes, ip-family, also, long, bare, empty, hub, advertise-mode, dns)`},
		"bad mode":                {"# lab: advertise-mode=vip\nheal\n", `x.txtar:1: lab: advertise-mode: "vip" is not pods or cluster-ip`},
		"bad mode in a list":      {"# lab: advertise-mode=pods,\nheal\n", `x.txtar:1: lab: advertise-mode: "" is not pods or cluster-ip`},
		"bad DNS":                 {"# lab: dns=bind\nheal\n", `x.txtar:1: lab: dns: "bind" is not atoll or stock`},
		"bad number of clusters":  {"# lab: clusters=many\nheal\n", `x.txtar:1: lab: clusters: "many" is not a number from 1 to 9`},
		"bad family":              {"# lab: ip-family=v6\nheal\n", `x.txtar: lab: ip-family: "v6" is not ipv4, ipv6, dual, or a comma-separated list of these values`},
		"bad family of a form":    {"# lab: ip-family=ipv5\nheal\n", `x.txtar: lab: ip-family: "ipv5" is not ipv4, ipv6, dual, or a comma-separated list of these values`},
		"bad length":              {"# lab: long=very\nheal\n", `x.txtar:1: lab: long: strconv.ParseBool: parsing "very": invalid syntax`},
		"bad form on request":     {"# lab: also=ipv6|v4\nheal\n", `x.txtar: lab: also: "v4" is not ipv4, ipv6, dual, or a comma-separated list of these values`},
		"too few families":        {"# lab: ip-family=ipv4,ipv6 clusters=3\nheal\n", `x.txtar: lab: ip-family: "ipv4,ipv6" must contain either one IP family or one IP family for each of the 3 clusters`},
		"empty":                   {"\n-- web.yaml --\n", "x.txtar:1: the script does nothing"},
		"file twice":              {"heal\n-- a --\n-- a --\n", "x.txtar: two files of the name a"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Parse("x.txtar", []byte(test.script))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(test.want, err.Error()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func parsed(t *testing.T, text string) *Script {
	t.Helper()
	script, err := Parse("x.txtar", []byte(text))
	planes.NoError(t, err)
	return script
}

func shape(t *testing.T, settings string) Shape {
	t.Helper()
	return parsed(t, "# lab: "+settings+"\nheal\n").Shape
}

func TestShapeOfScript(t *testing.T) {
	script := parsed(t, "# lab: clusters=2 nodes=2 ip-family=dual bare=true advertise-mode=pods,cluster-ip\n# Title.\nheal\n")
	want := Shape{Shape: lab.Shape{Clusters: 2, Nodes: 2, IPFamily: lab.Dual, Bare: true, AdvertiseMode: "pods,cluster-ip"}}
	if script.Shape != want {
		t.Errorf("%+v instead of %+v", script.Shape, want)
	}
	if len(script.lines) != 2 || script.lines[0].title != "Title." {
		t.Errorf("lines: %+v", script.lines)
	}
	for value, want := range map[string]lab.AdvertiseMode{"pods": "", "pods,pods": "", "cluster-ip": "cluster-ip", "cluster-ip,cluster-ip": "cluster-ip"} {
		if got := shape(t, "advertise-mode="+value).AdvertiseMode; got != want {
			t.Errorf("%q: %q instead of %q", value, got, want)
		}
	}
}

// The first form always runs; the others run nightly.
func TestFormsOfScript(t *testing.T) {
	script := parsed(t, "# lab: clusters=2 also=dual|stock|ipv6,dual\nheal\n")
	first := form{name: "x", script: script, shape: shape(t, "clusters=2")}
	all := []form{
		first,
		{name: "x/dual", script: script, shape: shape(t, "clusters=2 ip-family=dual")},
		{name: "x/stock", script: script, shape: shape(t, "clusters=2 dns=stock")},
		{name: "x/ipv6,dual", script: script, shape: shape(t, "clusters=2 ip-family=ipv6,dual")},
	}
	long := *script
	long.Long = true
	for _, test := range []struct {
		script  *Script
		nightly bool
		want    []form
	}{{script, false, []form{first}}, {script, true, all}, {&long, false, nil}} {
		if got := forms([]*Script{test.script}, test.nightly); !reflect.DeepEqual(got, test.want) {
			t.Errorf("nightly %v: %+v", test.nightly, got)
		}
	}
}

// A script waits for the deletion of other scripts' namespaces only if it reads beyond its own.
func TestLooksBeyondItsNamespaces(t *testing.T) {
	for text, want := range map[string]bool{
		"namespace a\non all kubectl get pods -n a\n": false,
		"on all kubectl get pods -A\n":                true,
		"eventually count all serviceimports -A 0\n":  true,
		"on c1 atoll status\n":                        true,
		"kill c1/agent\n":                             true,
	} {
		if got := parsed(t, text).looksBeyondItsNamespaces(); got != want {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func TestServes(t *testing.T) {
	for _, test := range []struct {
		lab, need string
		want      bool
	}{
		{"", "", true},
		{"", "clusters=2", true},
		{"", "clusters=4", false},
		{"", "nodes=2", false},
		{"", "ip-family=dual", false},
		{"", "advertise-mode=cluster-ip", false},
		{"", "dns=stock", true},
		{"", "clusters=2 ip-family=ipv4,ipv4", true},
		{"ip-family=dual,ipv6,ipv4", "clusters=2 ip-family=dual,ipv6", true},
		{"ip-family=dual,ipv6,ipv4", "clusters=2 ip-family=ipv6,dual", false},
		{"bare=true", "", false},
		{"", "bare=true", true},
		{"bare=true", "bare=true", true},
		{"", "empty=true", false},
		{"bare=true", "empty=true", false},
		{"empty=true", "bare=true", true},
		{"empty=true", "empty=true", true},
		{"", "hub=true", false},
		{"hub=true", "", true},
	} {
		if got := shape(t, test.lab).Serves(shape(t, test.need)); got != test.want {
			t.Errorf("a lab of %q, a script of %q: %v", test.lab, test.need, got)
		}
	}
}

func TestWords(t *testing.T) {
	env := map[string]string{"IP": "10.0.0.1", "EMPTY": ""}
	for text, want := range map[string][]string{
		"a b  c":             {"a", "b", "c"},
		"a # b":              {"a"},
		"a#b":                {"a#b"},
		"'a b' c":            {"a b", "c"},
		"'it''s'":            {"it's"},
		"x'y z'w":            {"xy zw"},
		"$IP '$IP' a${IP}b":  {"10.0.0.1", "$IP", "a10.0.0.1b"},
		"$EMPTY ''":          {"", ""},
		"-o=jsonpath={.a.b}": {"-o=jsonpath={.a.b}"},
	} {
		words, err := split(text)
		planes.NoError(t, err)
		var got []string
		for _, w := range words {
			expanded, err := w.expand(env, false)
			planes.NoError(t, err)
			got = append(got, expanded)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", text, diff)
		}
	}
	if _, err := (word{{text: "$MISSING"}}).expand(env, false); !isUsage(err) {
		t.Errorf("an unset variable gives %v", err)
	}
	if got, _ := (word{{text: "^$IP"}}).expand(env, true); got != `^10\.0\.0\.1` {
		t.Errorf("in a pattern: %s", got)
	}
}

var update = flag.Bool("update", false, "write the table of verbs into the manual")

// TestManual keeps the manual's table of verbs current.
func TestManual(t *testing.T) {
	const manual = "../../docs/contributing/scenarios.md"
	data, err := os.ReadFile(manual)
	planes.NoError(t, err)
	before, rest, _ := strings.Cut(string(data), "<!-- verbs -->\n")
	table, after, ok := strings.Cut(rest, "<!-- /verbs -->")
	if !ok {
		t.Fatalf("%s has no markers for the table of verbs", manual)
	}
	if *update {
		page := before + "<!-- verbs -->\n" + VerbTable() + "<!-- /verbs -->" + after
		planes.NoError(t, os.WriteFile(manual, []byte(page), 0o644))
		return
	}
	if table != VerbTable() {
		t.Errorf("%s: the table of verbs is out of date; update it with: go test ./test/scenario -run TestManual -update", manual)
	}
}
