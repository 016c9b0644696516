package charts

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/deploy/monitoring"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// needsHelm skips a test in short mode, because helm may have to be built.
func needsHelm(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("needs helm")
	}
}

// manifests returns CustomResourceDefinitions and all other objects.
type manifests = func() (crds, objects []*unstructured.Unstructured)

// with adds objects to manifests.
func with(m manifests, more ...*unstructured.Unstructured) manifests {
	return func() (_, _ []*unstructured.Unstructured) {
		crds, objects := m()
		return crds, append(objects, more...)
	}
}

// withDNSAddress sets the address of the Service of atoll-dns, which no command sets.
func withDNSAddress(m manifests, ip string) manifests {
	return func() (_, _ []*unstructured.Unstructured) {
		crds, objects := m()
		for _, o := range objects {
			if o.GetKind() == "Service" && o.GetName() == render.DNSName {
				_ = unstructured.SetNestedField(o.Object, ip, "spec", "clusterIP") // the object has a spec
			}
		}
		return crds, objects
	}
}

// both are the objects of two commands.
func both(a, b manifests) manifests {
	return func() (_, _ []*unstructured.Unstructured) {
		crds, objects := a()
		crdsOfB, objectsOfB := b()
		return slices.Concat(crds, crdsOfB), slices.Concat(objects, objectsOfB)
	}
}

func member(m render.Member, id names.ClusterID, clusterset string) manifests {
	return func() (_, _ []*unstructured.Unstructured) { return setup.MemberManifests(m, id, clusterset, false) }
}

func brokerOf(clusterset string, exports setup.DefaultExports) manifests {
	return func() (_, _ []*unstructured.Unstructured) { return setup.BrokerManifests(clusterset, exports) }
}

const appVersion = "development" // of the charts in the repository

// Charts and commands render the same objects, for all options that both have.
func TestTheSameAsTheCommands(t *testing.T) {
	needsHelm(t)
	membership := membership()
	file, err := membership.JoinFile()
	if err != nil {
		t.Fatal(err)
	}
	joinFile := filepath.Join(t.TempDir(), "c1.join")
	if err := os.WriteFile(joinFile, file, 0o600); err != nil {
		t.Fatal(err)
	}
	membership.CA = []byte{} // without a CA, the Secret has an empty key
	secret := install.Objects(membership.Secret(names.SystemNamespace))[0]
	values := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(values, []byte("agent: {args: ['--lease-timeout=60s', '--probe-timeout=a,b']}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	hub := render.Hub{Clusterset: "atoll-clusterset", Tag: appVersion}
	staging, balancing := hub, hub
	staging.Clusterset, staging.Registry, staging.Tag, staging.Replicas, staging.Args = "staging", "registry.test:5000/a", "v9", 1, []string{"--v=2"}
	balancing.Args = []string{"--lb-addresses", "192.0.2.1"}
	elsewhere, idle := hub, hub
	elsewhere.Args = []string{"--lb-addresses=192.0.2.1"}
	idle.NoWorkloads = true
	type comparison struct {
		chart, args string
		want        manifests
	}
	comparisons := []comparison{
		{"atoll-agent", "--set clusterID=c1", member(render.Member{Tag: appVersion}, "c1", "atoll-clusterset")},
		{"atoll-agent", "--set clusterID=c1.eu --set workloads=false --set global.clusterset=staging", member(render.Member{NoWorkloads: true}, "c1.eu", "staging")},
		{"atoll-agent", "--set clusterID=0123 --set agent.region=eu --set agent.refuseImportsFrom={c8,c9.eu} --set agent.podCIDRs={10.1.0.0/16,fd00::/48} --set agent.advertiseMode=cluster-ip " +
			"--set agent.replicas=3 --set dns.replicas=3 --set global.image.registry=registry.test:5000/mirror --set global.image.tag=v1.2.3 -f " + values,
			member(render.Member{
				Registry: "registry.test:5000/mirror", Tag: "v1.2.3", Replicas: 3,
				AgentArgs: []string{"--region=eu", "--refuse-imports-from=c8", "--refuse-imports-from=c9.eu", "--pod-cidr=10.1.0.0/16", "--pod-cidr=fd00::/48", "--advertise-mode=cluster-ip", "--lease-timeout=60s", "--probe-timeout=a,b"},
			}, "0123", "atoll-clusterset")},
		{
			"atoll-agent", "--set clusterID=c1 --set agent.env[0].name=HTTPS_PROXY --set agent.env[0].value=http://proxy:3128",
			member(render.Member{Tag: appVersion, AgentEnv: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "http://proxy:3128"}}}, "c1", "atoll-clusterset"),
		},
		{"atoll-agent", "--set clusterID=c1 --set dns.clusterIP=10.96.0.53", withDNSAddress(member(render.Member{Tag: appVersion}, "c1", "atoll-clusterset"), "10.96.0.53")},
		{"atoll-agent", "--set clusterID=c1 --set prefer=local", member(render.Member{Tag: appVersion, Prefer: render.PreferLocal}, "c1", "atoll-clusterset")},
		{"atoll-agent", "--set-file joinFile=" + joinFile, with(member(render.Member{Tag: appVersion}, "c1", "joined-set"), secret)},
		{"atoll-agent", "--set clusterID=c1 --set hub.enabled=true", both(member(render.Member{Tag: appVersion}, "c1", "atoll-clusterset"), hub.Manifests)},
		{"atoll-broker", "", brokerOf("atoll-clusterset", "")},
		{"atoll-broker", "--set-string global.clusterset=2026", brokerOf("2026", "")},
		{
			"atoll-broker", "--set hub.enabled=true --set global.clusterset=staging --set hub.replicas=1 --set hub.args={--v=2} --set global.image.registry=registry.test:5000/a --set global.image.tag=v9",
			both(brokerOf("staging", ""), staging.Manifests),
		},
		{"atoll-broker", "--set quota.enabled=true", with(brokerOf("atoll-clusterset", ""), install.Objects(rights.Quota("atoll-clusterset"))...)},
		{"atoll-broker", "--set defaultExports=allow", brokerOf("atoll-clusterset", setup.DefaultExportsAllow)},
		{"atoll-broker", "--set defaultExports=deny", brokerOf("atoll-clusterset", setup.DefaultExportsDeny)},
		{"atoll-hub", "", hub.Manifests},
		{"atoll-hub", "--set args={--lb-addresses,192.0.2.1}", balancing.Manifests},
		{"atoll-hub", "--set args={--lb-addresses=192.0.2.1}", elsewhere.Manifests},
		{"atoll-hub", "--set workloads=false", idle.Manifests},
	}
	comparisons = append(comparisons, comparison{
		"atoll-broker", "--set hub.enabled=true --set hub.hostNetwork=true --set hub.haproxyImage=haproxy:2.6",
		both(brokerOf("atoll-clusterset", ""), render.Hub{Clusterset: "atoll-clusterset", Tag: appVersion, Replicas: 2, HostNetwork: true, HAProxyImage: "haproxy:2.6"}.Manifests),
	})
	for args, where := range map[string]render.Hub{
		"": {}, " --set hostNetwork=true --set-string nodeSelector.edge=true": {HostNetwork: true, NodeSelector: map[string]string{"edge": "true"}},
		" --set hostNetwork=true --set lowPorts=true": {HostNetwork: true, LowPorts: true},
	} {
		for _, balances := range []bool{false, true} {
			h := where
			h.Clusterset, h.Tag, h.Replicas, h.HAProxyImage = hub.Clusterset, hub.Tag, hub.Replicas, "registry.test/haproxy:2.6"
			args := "--set haproxyImage=registry.test/haproxy:2.6" + args
			if balances {
				h.Args, args = []string{"--lb-addresses=haproxy=192.0.2.1"}, args+" --set args={--lb-addresses=haproxy=192.0.2.1}"
			}
			comparisons = append(comparisons, comparison{"atoll-hub", args, h.Manifests})
			h.HAProxyImage = ""
			comparisons = append(comparisons, comparison{"atoll-hub", strings.Replace(args, "registry.test/haproxy:2.6", "", 1), h.Manifests})
		}
	}
	for _, tc := range comparisons {
		got, err := Objects(t.Context(), tc.chart, strings.Fields(tc.args)...)
		if err != nil {
			t.Fatalf("%s %s: %v", tc.chart, tc.args, err)
		}
		crds, objects := tc.want()
		if diff := cmp.Diff(comparable(t, slices.Concat(crds, objects)), comparable(t, got)); diff != "" {
			t.Errorf("%s %s (-command +chart):\n%s", tc.chart, tc.args, diff)
		}
	}
}

// membership returns the membership of a join file.
func membership() credential.Membership {
	return credential.Membership{
		ClusterID: "c1", Clusterset: "joined-set", Server: "https://broker.test:6443",
		Token: "eyJhbGciOiJub25lIn0.eyJzdWIiOiJzeXN0ZW06c2VydmljZWFjY291bnQ6am9pbmVkLXNldDpqb2luLWMxIiwiaWF0IjoxMDAwLCJleHAiOjQ2MDB9.x",
	}
}

// comparable returns objects by name, in the form of files, without labels of the installing
// tool.
func comparable(t *testing.T, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	all := map[string]any{}
	for _, o := range objects {
		text, err := yaml.Marshal(o.Object)
		if err != nil {
			t.Fatal(err)
		}
		u := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(text, &u.Object); err != nil {
			t.Fatal(err)
		}
		if annotations := u.GetAnnotations(); annotations["helm.sh/resource-policy"] == "keep" {
			delete(annotations, "helm.sh/resource-policy")
			u.SetAnnotations(annotations)
			if len(annotations) == 0 {
				u.SetAnnotations(nil)
			}
		}
		name := install.Name(o)
		if _, twice := all[name]; twice {
			t.Errorf("%s is there twice", name)
		}
		all[name] = u.Object
	}
	return all
}

// Options that only charts have appear in the right places of the objects.
func TestChartsAlone(t *testing.T) {
	needsHelm(t)
	args := "--set clusterID=c1 --set monitoring.serviceMonitor=true --set monitoring.prometheusRule=true --set monitoring.dashboard=true --set monitoring.labels.release=prometheus --set global.image.pullSecrets[0].name=regcred"
	for _, program := range []string{"agent", "dns"} {
		args += fmt.Sprintf(" --set %[1]s.nodeSelector.pool=infra --set %[1]s.tolerations[0].key=infra --set %[1]s.podAnnotations.a=b --set %[1]s.resources.limits.memory=2Gi", program)
	}
	got, err := Objects(t.Context(), "atoll-agent", strings.Fields(args)...)
	if err != nil {
		t.Fatal(err)
	}
	monitors := 0
	for _, o := range got {
		switch o.GetKind() {
		case "ServiceMonitor":
			monitors++
			if o.GetLabels()["release"] != "prometheus" {
				t.Errorf("%s has the labels %v", install.Name(o), o.GetLabels())
			}
		case "PrometheusRule":
			expectRules(t, o, monitoring.Alerts)
			monitors++
		case "ConfigMap":
			if text, _, _ := unstructured.NestedString(o.Object, "data", "atoll.json"); text == monitoring.Dashboard && o.GetLabels()["grafana_dashboard"] == "1" {
				monitors++
			}
		case "Deployment":
			pod, _, _ := unstructured.NestedMap(o.Object, "spec", "template")
			spec := pod["spec"].(map[string]any)
			container := spec["containers"].([]any)[0].(map[string]any)
			want := map[string]any{
				"annotations": map[string]any{"a": "b"}, "nodeSelector": map[string]any{"pool": "infra"},
				"tolerations": []any{map[string]any{"key": "infra"}}, "imagePullSecrets": []any{map[string]any{"name": "regcred"}},
				"resources": map[string]any{"limits": map[string]any{"memory": "2Gi"}},
			}
			have := map[string]any{
				"annotations": pod["metadata"].(map[string]any)["annotations"], "nodeSelector": spec["nodeSelector"],
				"tolerations": spec["tolerations"], "imagePullSecrets": spec["imagePullSecrets"], "resources": container["resources"],
			}
			if diff := cmp.Diff(want, have); diff != "" {
				t.Errorf("%s (-want +got):\n%s", install.Name(o), diff)
			}
		}
	}
	if monitors != 4 {
		t.Errorf("there are %d of two ServiceMonitors, rules and a dashboard", monitors)
	}
}

// The charts of broker and hub have their alerts, and the hub a ServiceMonitor, if they are asked for.
func TestAlertsOfBrokerAndHub(t *testing.T) {
	needsHelm(t)
	for chart, text := range map[string]string{"atoll-broker": monitoring.BrokerAlerts, "atoll-hub": monitoring.HubAlerts} {
		args := "--set monitoring.prometheusRule=true --set monitoring.labels.release=prometheus"
		if chart == "atoll-hub" {
			args += " --set monitoring.serviceMonitor=true"
		}
		got, err := Objects(t.Context(), chart, strings.Fields(args)...)
		if err != nil {
			t.Fatal(err)
		}
		kinds := map[string]int{}
		for _, o := range got {
			if o.GroupVersionKind().Group != "monitoring.coreos.com" {
				continue
			}
			kinds[o.GetKind()]++
			if o.GetKind() == "PrometheusRule" {
				expectRules(t, o, text)
			} else if o.GetLabels()["release"] != "prometheus" {
				t.Errorf("%s %s has the labels %v", chart, install.Name(o), o.GetLabels())
			}
		}
		if kinds["PrometheusRule"] != 1 || (kinds["ServiceMonitor"] == 1) != (chart == "atoll-hub") {
			t.Errorf("%s has %v", chart, kinds)
		}
	}
}

// expectRules checks a PrometheusRule, and its label.
func expectRules(t *testing.T, o *unstructured.Unstructured, text string) {
	t.Helper()
	var want any
	if err := yaml.Unmarshal([]byte(text), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, o.Object["spec"]); diff != "" || o.GetLabels()["release"] != "prometheus" {
		t.Errorf("%s, with labels %v (-want +got):\n%s", install.Name(o), o.GetLabels(), diff)
	}
}

// If the release itself is stored in Atoll's namespace, the chart does not contain that
// namespace.
func TestNamespaces(t *testing.T) {
	needsHelm(t)
	for args, want := range map[string]bool{"": true, "-n atoll-system": false} {
		got, err := Objects(t.Context(), "atoll-agent", strings.Fields("--set clusterID=c1 "+args)...)
		if err != nil {
			t.Fatal(err)
		}
		if has := slices.ContainsFunc(got, func(o *unstructured.Unstructured) bool { return install.Name(o) == "Namespace atoll-system" }); has != want {
			t.Errorf("%q: the chart contains the namespace: %v", args, has)
		}
	}
	got, err := Objects(t.Context(), "atoll-broker", "-n", "atoll-clusterset", "--set", "createNamespace=false")
	if err != nil || slices.ContainsFunc(got, func(o *unstructured.Unstructured) bool { return o.GetKind() == "Namespace" }) {
		t.Errorf("%v, or the chart contains a namespace", err)
	}
}

// Invalid values are refused with a message that says how to fix them.
func TestRefused(t *testing.T) {
	needsHelm(t)
	for _, tc := range []struct{ chart, args, want string }{
		{"atoll-agent", "", "clusterID is missing: set clusterID, or pass a join file at the first installation"},
		{"atoll-agent", "--set clusterID=C1", "clusterID"},
		{"atoll-agent", "--set clusterID=a.b.c", "clusterID"},
		{"atoll-agent", "--set joinFile=hello", "joinFile is not a join file"},
		{"atoll-agent", "--set clusterID=c2 --set-string joinFile.x=1", "joinFile"},
		{"atoll-agent", "--set clusterID=c1 --set agent.replicas=0", "replicas"},
		{"atoll-agent", "--set clusterID=c1 --set agent.replica=1", "replica"},
		{"atoll-agent", "--set clusterID=c1 --set agent.advertiseMode=vip", "advertiseMode"},
		{"atoll-agent", "--set clusterID=c1 --set prefer=near", "prefer"},
		{"atoll-agent", "--set clusterID=c1 --set agent.podCIDRs={10.0.0.0}", "podCIDRs"},
		{"atoll-agent", "--set clusterID=c1 --set agent.refuseImportsFrom={c_1}", "refuseImportsFrom"},
		{"atoll-agent", "--set clusterID=c1 --set hub.enabled=true --set hub.replicas=0", "replicas"},
		{"atoll-broker", "--set global.clusterset=kube-system", "choose a separate namespace"},
		{"atoll-broker", "--set global.clusterset=A", "clusterset"},
		{"atoll-broker", "-n atoll-clusterset", "install the release in another namespace, for example with -n default"},
		{"atoll-broker", "--set defaultExports=some", "defaultExports"},
		{"atoll-hub", "--set args=lb", "args"},
		{"atoll-hub", "--set lowPorts=true", "lowPorts requires hostNetwork"},
		{"atoll-hub", "--set workloads=false --set haproxyImage=x", "require workloads=true"},
	} {
		if _, err := Objects(t.Context(), tc.chart, strings.Fields(tc.args)...); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s %s: %v, want %q", tc.chart, tc.args, err, tc.want)
		}
	}
}

// helm lint finds no problem in the charts.
func TestLint(t *testing.T) {
	needsHelm(t)
	for chart, args := range map[string]string{"atoll-agent": "--set clusterID=c1", "atoll-broker": "", "atoll-hub": ""} {
		if output, err := Run(t.Context(), append([]string{"lint", "--strict", "--kube-version", kubernetes, "charts/" + chart}, strings.Fields(args)...)...); err != nil {
			t.Errorf("%s: %v\n%s", chart, err, output)
		}
	}
}

// The chart's README documents exactly the existing values.
func TestValuesAreDocumented(t *testing.T) {
	for _, chart := range []string{"atoll-agent", "atoll-broker", "atoll-hub"} {
		folder := filepath.Join(Root(), "charts", chart)
		text, err := os.ReadFile(filepath.Join(folder, "values.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := yaml.Unmarshal(text, &values); err != nil {
			t.Fatal(err)
		}
		readme, err := os.ReadFile(filepath.Join(folder, "README.md"))
		if err != nil {
			t.Fatal(err)
		}
		var want, documented []string
		for path := range leaves(values, "") {
			want = append(want, path)
		}
		for line := range strings.Lines(string(readme)) {
			if cell, ok := strings.CutPrefix(line, "| `"); ok {
				name, _, _ := strings.Cut(cell, "`")
				documented = append(documented, name)
			}
		}
		slices.Sort(want)
		slices.Sort(documented)
		if diff := cmp.Diff(want, documented); diff != "" {
			t.Errorf("%s (-values.yaml +README.md):\n%s", chart, diff)
		}
	}
}

// leaves returns the paths of all values that are not maps.
func leaves(values map[string]any, prefix string) map[string]any {
	all := map[string]any{}
	for key, value := range values {
		if group, ok := value.(map[string]any); ok && len(group) > 0 {
			for path, v := range leaves(group, prefix+key+".") {
				all[path] = v
			}
			continue
		}
		all[prefix+key] = value
	}
	return all
}
