package clusterdns

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// objects parses a YAML stream.
func objects(t *testing.T, stream string) (all Objects) {
	t.Helper()
	for text := range strings.SplitSeq(stream, "---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatalf("%v: %s", err, text)
		}
		if o.Object != nil {
			all = append(all, o)
		}
	}
	return all
}

func configMap(name, data string) string {
	return fmt.Sprintf("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: %s, namespace: kube-system}\ndata: %s\n", name, data)
}

// pods is a workload with one container, and its volume of a ConfigMap.
func pods(kind, name, labels, args, volume string) string {
	return fmt.Sprintf(`---
apiVersion: apps/v1
kind: %s
metadata: {name: %s, namespace: kube-system}
spec:
  template:
    metadata: {labels: %s}
    spec:
      containers:
      - {name: dns, image: example.org/dns, args: %s, ports: [{name: dns, containerPort: 1053}], volumeMounts: [{name: c, mountPath: /etc/coredns}, {name: z, mountPath: /etc/coredns/zones}]}
      volumes:
      - {name: c, configMap: %s}
      - {name: z, configMap: {name: zones, optional: true}}
`, kind, name, labels, args, volume)
}

const (
	service  = "---\napiVersion: v1\nkind: Service\nmetadata: {name: kube-dns, namespace: kube-system}\nspec: {selector: {k8s-app: kube-dns}, ports: [{port: 53, targetPort: dns}]}\n"
	behind   = "{k8s-app: kube-dns, more: x}"
	conf     = "[-conf, /etc/coredns/Corefile]"
	corefile = "{Corefile: \".:53 {\\n kubernetes cluster.local\\n}\\n\"}"
	cache    = "{Corefile: \".:53 {\\n bind 169.254.25.10\\n}\\n\", Corefile-second: \".:53 {\\n bind 169.254.25.11\\n}\\n\", notes: x}"
)

// The Corefiles that the cluster's DNS servers have are found, whatever their ConfigMaps are called.
func TestRead(t *testing.T) {
	for _, test := range []struct {
		name, stream string
		place        client.ObjectKey
		want         string // the places: ConfigMap/key, the ports, and the keys of NodeLocal DNSCache
		err          string
	}{
		{name: "the usual name", stream: configMap("coredns", corefile), want: "coredns/ [] given=false"},
		{
			name: "behind the Service", stream: service + configMap("coredns", corefile) + configMap("my-dns", corefile) + pods("Deployment", "d8", behind, conf, "{name: my-dns, items: [{key: Corefile, path: Corefile}]}"),
			want: "my-dns/Corefile [1053] given=false",
		},
		{
			name: "another key", stream: service + configMap("my-dns", "{conf: \". {\\n}\\n\"}") + pods("DaemonSet", "dns-default", behind, "[--conf=/etc/coredns/Corefile]", "{name: my-dns, items: [{key: conf, path: Corefile}]}"),
			want: "my-dns/conf [1053] given=false",
		},
		{
			name: "without items", stream: service + configMap("my-dns", corefile) + pods("Deployment", "coredns", behind, conf, "{name: my-dns}"),
			want: "my-dns/Corefile [1053] given=false",
		},
		{
			name: "given, and behind the Service", stream: service + configMap("my-dns", corefile) + pods("Deployment", "coredns", behind, conf, "{name: my-dns}"),
			place: system("my-dns"), want: "my-dns/Corefile [1053] given=false",
		},
		{
			name: "another default port", stream: service + configMap("my-dns", corefile) + pods("Deployment", "coredns", behind, "[-conf, /etc/coredns/Corefile, -dns.port=1053]", "{name: my-dns}"),
			want: "my-dns/Corefile [1053] given=false port=1053",
		},
		{
			name: "another default port, in short", stream: service + configMap("my-dns", corefile) + pods("Deployment", "coredns", behind, "[--conf, /etc/coredns/Corefile, -p, \"1053\"]", "{name: my-dns}"),
			want: "my-dns/Corefile [1053] given=false port=1053",
		},
		{
			name: "a default port from the environment", stream: service + configMap("my-dns", corefile) + pods("Deployment", "coredns", behind, "[-conf, /etc/coredns/Corefile, -dns.port, $(PORT)]", "{name: my-dns}"),
			err: `the DNS port "$(PORT)" in the arguments of kube-system/coredns is not a number`,
		},
		{name: "given", stream: configMap("coredns", corefile) + configMap("my-dns", corefile), place: system("my-dns"), want: "my-dns/ [] given=true"},
		{
			name: "remembered", stream: configMap("coredns", corefile) + strings.Replace(configMap("my-dns", corefile), "namespace: kube-system", "namespace: kube-system, labels: {atoll.dev/corefile: my-dns}", 1),
			want: "my-dns/ [] given=true",
		},
		{
			name: "two are remembered", stream: strings.ReplaceAll(configMap("coredns", corefile)+configMap("a", corefile), "{name: ", "{labels: {atoll.dev/corefile: x}, name: ") + strings.ReplaceAll(configMap("b", corefile), "{name: ", "{labels: {atoll.dev/corefile: b}, name: "),
			err: "Run this command for each of them with --configmap",
		},
		{
			name: "two servers", stream: service + configMap("a", corefile) + configMap("b", corefile) + pods("Deployment", "a", behind, conf, "{name: a}") + pods("Deployment", "b", behind, conf, "{name: b}"),
			err: "the Corefiles of configmap kube-system/a and of configmap kube-system/b",
		},
		{name: "kube-dns", stream: service + configMap("kube-dns", "{}") + pods("Deployment", "kube-dns", behind, "[]", "{name: kube-dns}"), want: " [] given=false kube-dns"},
		{
			name: "CoreDNS that is called kube-dns", stream: service + configMap("kube-dns", corefile) + pods("Deployment", "kube-dns", behind, conf, "{name: kube-dns}"),
			want: "kube-dns/Corefile [1053] given=false",
		},
		{name: "not there", stream: configMap("coredns", corefile), place: system("x"), err: "there is no configmap kube-system/x"},
		{name: "a cache by its usual names", stream: configMap("nodelocaldns", cache), want: " [] given=false nodelocaldns[]"},
		{
			name: "a cache with a hash in its name", stream: configMap("node-local-dns-5f4d", cache) + pods("DaemonSet", "node-local-dns", "{}", "[-localip, 169.254.20.10, -conf, /etc/Corefile]", "{name: node-local-dns-5f4d, items: [{key: Corefile, path: Corefile.base}]}"),
			want: " [] given=false node-local-dns-5f4d[Corefile]",
		},
		{
			name: "a cache with a second key", stream: configMap("nodelocaldns", cache) + pods("DaemonSet", "nodelocaldns", "{}", conf, "{name: nodelocaldns, items: [{key: Corefile, path: Corefile}]}") + pods("DaemonSet", "nodelocaldns-second", "{}", "[-localip, 1.2.3.4, -conf, /etc/coredns/Corefile]", "{name: nodelocaldns, items: [{key: Corefile-second, path: Corefile}]}"),
			want: " [] given=false nodelocaldns[Corefile Corefile-second]",
		},
		{
			name: "two caches", stream: configMap("a", cache) + configMap("b", cache) + pods("DaemonSet", "a", "{}", "[-localip, x, -conf, /etc/coredns/Corefile]", "{name: a}") + pods("DaemonSet", "b", "{}", "[-localip, x, -conf, /etc/coredns/Corefile]", "{name: b}"),
			err: "Atoll can edit only one of them",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, err := Read(t.Context(), objects(t, test.stream), test.place)
			for _, unclear := range c.Unclear { // is an error for a change only
				if _, err := Uninstall(nil)(c); err != nil {
					t.Errorf("uninstalling: %v", err)
				}
				err = unclear
			}
			if (err == nil) != (test.err == "") || err != nil && !strings.Contains(err.Error(), test.err) {
				t.Fatalf("got error %v, want %q", err, test.err)
			}
			if err != nil {
				return
			}
			got := ""
			if c.CoreDNS != nil {
				got = c.CoreDNS.Name + "/" + c.Key
			}
			got += fmt.Sprint(" ", c.Ports, " given=", c.Given)
			if c.DefaultPort != "" {
				got += " port=" + c.DefaultPort
			}
			if c.KubeDNSRuns {
				got += " kube-dns"
			}
			if c.NodeLocal != nil {
				got += fmt.Sprint(" ", c.NodeLocal.Name, c.NodeLocalKeys)
			}
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

// The files that the pods mount are read: a block in one of them keeps the zone.
func TestReadMounts(t *testing.T) {
	wiring := dnswiring.Wiring{Zones: []string{"clusterset.local"}, Servers: []netip.Addr{netip.MustParseAddr("10.96.0.53")}}
	main := "{Corefile: \".:1053 {\\n reload\\n kubernetes cluster.local\\n}\\nimport zones/*\\n\"}"
	server := service + configMap("my-dns", main) + pods("Deployment", "coredns", behind, conf, "{name: my-dns}")
	c, err := Read(t.Context(), objects(t, server+configMap("zones", "{a: \"clusterset.local:1053 {\\n}\\n\"}")), client.ObjectKey{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Install(wiring, nil)(c); err == nil || !strings.Contains(err.Error(), "of the key a of configmap kube-system/zones") {
		t.Errorf("got error %v", err)
	}
	if c, err = Read(t.Context(), objects(t, server), client.ObjectKey{}); err != nil {
		t.Fatal(err)
	}
	changes, err := Install(wiring, nil)(c)
	if err != nil || len(changes) != 1 || len(changes[0].Warnings) > 0 {
		t.Errorf("%v, %v", changes, err)
	}
}

// A mounted key is read under its path, and a key that the pods do not mount is not written.
func TestReadItems(t *testing.T) {
	wiring := dnswiring.Wiring{Zones: []string{"clusterset.local"}, Servers: []netip.Addr{netip.MustParseAddr("10.96.0.53")}}
	const plain = "{name: z, configMap: {name: zones, optional: true}}"
	for _, test := range []struct {
		name, imports, volume, data string
		want                        string // "" for no error
	}{
		{"renamed", "zones/*.server", "{name: z, configMap: {name: zones, items: [{key: site.txt, path: site.server}]}}", "{site.txt: \"clusterset.local:1053 {\\n}\\n\"}", "of the key site.txt of configmap kube-system/zones"},
		{"projected", "zones/*.server", "{name: z, projected: {sources: [{configMap: {name: zones, items: [{key: site.txt, path: site.server}]}}]}}", "{site.txt: \"clusterset.local:1053 {\\n}\\n\"}", "of the key site.txt of configmap kube-system/zones"},
		{"below a directory", "zones/more/*", "{name: z, configMap: {name: zones, items: [{key: a, path: more/b}]}}", "{a: \"clusterset.local:1053 {\\n}\\n\"}", "of the key a of configmap kube-system/zones"},
		{"twice", "zones/*.server", "{name: z, configMap: {name: zones, items: [{key: a, path: b}, {key: a, path: a.server}]}}", "{a: \"clusterset.local:1053 {\\n}\\n\"}", "of the key a of configmap kube-system/zones"},
		{"not mounted", "zones/*.server", "{name: z, configMap: {name: zones, items: [{key: other, path: other.server}]}}", "{a.server: \"clusterset.local:1053 {\\n}\\n\", other: \"\"}", ""},
		{"a file by subPath", "zones/*.server", "{name: z, configMap: {name: zones}}@zones/a.server, subPath: site.txt", "{site.txt: \"clusterset.local:1053 {\\n}\\n\"}", "of the key site.txt of configmap kube-system/zones"},
		{"an item by subPath", "zones/a.server", "{name: z, configMap: {name: zones, items: [{key: site.txt, path: more/a}]}}@zones/a.server, subPath: more/a", "{site.txt: \"clusterset.local:1053 {\\n}\\n\"}", "of the key site.txt of configmap kube-system/zones"},
		{"a directory by subPath", "zones/*", "{name: z, configMap: {name: zones, items: [{key: site.txt, path: more/a}]}}@zones, subPath: more", "{site.txt: \"clusterset.local:1053 {\\n}\\n\"}", "of the key site.txt of configmap kube-system/zones"},
		{"another file by subPath", "zones/*", "{name: z, configMap: {name: zones}}@other/a, subPath: site.txt", "{site.txt: \"clusterset.local:1053 {\\n}\\n\"}", ""},
		{"coredns-custom without our key, by subPath", "zones/*.server", "{name: z, configMap: {name: coredns-custom}}@zones/a.server, subPath: a.server", "{}", "Mount the key atoll.server too, or use --provider coredns"},
		{"coredns-custom without our key", "zones/*.server", "{name: z, configMap: {name: coredns-custom, items: [{key: a.server, path: a.server}]}}", "{}", "configmap kube-system/coredns-custom: the DNS pods mount only some keys, and not atoll.server"},
		{"coredns-custom with our key", "zones/*.server", "{name: z, configMap: {name: coredns-custom, items: [{key: atoll.server, path: atoll.server}]}}", "{}", ""},
		{"coredns-custom with our key elsewhere", "zones/*.server", "{name: z, configMap: {name: coredns-custom, items: [{key: atoll.server, path: x}]}}", "{}", "a server block cannot be added"},
	} {
		main := "{Corefile: \".:1053 {\\n reload\\n kubernetes cluster.local\\n}\\nimport " + test.imports + "\\n\"}"
		volume, mount, _ := strings.Cut(test.volume, "@") // the mount replaces the path zones
		server := strings.Replace(pods("Deployment", "coredns", behind, conf, "{name: my-dns}"), plain, volume, 1)
		if mount != "" {
			server = strings.Replace(server, "/etc/coredns/zones", "/etc/coredns/"+mount, 1)
		}
		c, err := Read(t.Context(), objects(t, service+configMap("my-dns", main)+server+configMap("zones", test.data)), client.ObjectKey{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = Install(wiring, nil)(c); (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: got error %v, want %q", test.name, err, test.want)
		}
	}
}

// Running pods do not see changes of a file that is mounted with subPath.
func TestSubPathNeedsRestart(t *testing.T) {
	wiring := dnswiring.Wiring{Zones: []string{"clusterset.local"}, Servers: []netip.Addr{netip.MustParseAddr("10.96.0.53")}}
	const main, dir = "{Corefile: \".:1053 {\\n reload\\n kubernetes cluster.local\\n}\\n\"}", "mountPath: /etc/coredns}"
	whole := pods("Deployment", "coredns", behind, conf, "{name: my-dns}")
	file := strings.Replace(whole, dir, "mountPath: /etc/coredns/Corefile, subPath: Corefile}", 1)
	for name, server := range map[string]string{"": whole, "the DNS pods mount the key Corefile with subPath": file} {
		c, err := Read(t.Context(), objects(t, service+configMap("my-dns", main)+server), client.ObjectKey{})
		if err != nil || c.CoreDNS == nil || c.Path != "/etc/coredns/Corefile" {
			t.Fatalf("%v, %v", c.CoreDNS, err)
		}
		changes, err := Install(wiring, nil)(c)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		if got := strings.Join(changes[0].Warnings, "\n"); !strings.HasPrefix(got, name) || (name == "") != (got == "") {
			t.Errorf("warnings are %q, want %q", got, name)
		}
	}
}

// A place that a user gave is found again to uninstall, and then forgotten.
func TestPlaceIsRemembered(t *testing.T) {
	wiring := dnswiring.Wiring{Zones: []string{"clusterset.local"}, Servers: []netip.Addr{netip.MustParseAddr("10.96.0.53")}}
	custom := "{Corefile: \".:53 {\\n kubernetes cluster.local\\n}\\nimport custom/*.server\\n\"}"
	for _, data := range []string{corefile, custom} {
		stream := configMap("coredns", corefile) + configMap("my-dns", data)
		was, err := Read(t.Context(), objects(t, stream), system("my-dns"))
		if err != nil {
			t.Fatal(err)
		}
		changes, err := Install(wiring, nil)(was)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		after := changes[0].After.(*corev1.ConfigMap)
		after.Kind = "ConfigMap"
		text, err := yaml.Marshal(after)
		if err != nil {
			t.Fatal(err)
		}
		all := slices.DeleteFunc(objects(t, stream+"---\n"+string(text)), func(o *unstructured.Unstructured) bool {
			return o.GetName() == after.Name && len(o.GetLabels()) == 0
		})
		is, err := Read(t.Context(), all, client.ObjectKey{})
		if err != nil || is.CoreDNS.Name != "my-dns" {
			t.Fatalf("%v, %v", is.CoreDNS, err)
		}
		if again, err := Install(wiring, nil)(is); err != nil || len(again) != 1 || !again[0].None() {
			t.Errorf("a second time: %v, %v", again, err)
		}
		changes, err = Uninstall(nil)(is)
		if err != nil || len(changes) != 1 {
			t.Fatalf("%v, %v", changes, err)
		}
		if cm, ok := changes[0].After.(*corev1.ConfigMap); ok && (len(cm.Labels) > 0 || strings.Contains(fmt.Sprint(cm.Data), "atoll")) {
			t.Errorf("it stays: %v", cm)
		}
	}
}

// The cluster's DNS is down if no pod of the workloads behind its Service is available, also when it is scaled to 0.
func TestUnavailable(t *testing.T) {
	scaled := func(kind, name, status string) string {
		return pods(kind, name, behind, conf, "{name: c}") + "status: " + status + "\n"
	}
	for name, test := range map[string]struct{ stream, want string }{
		"no Service":               {scaled("Deployment", "coredns", "{}"), ""},
		"no workload":              {service, ""},
		"scaled to 0":              {service + strings.Replace(scaled("Deployment", "coredns", "{}"), "spec:\n", "spec:\n  replicas: 0\n", 1), "Deployment kube-system/coredns"},
		"no pod is available":      {service + scaled("Deployment", "coredns", "{replicas: 2}"), "Deployment kube-system/coredns"},
		"a DaemonSet":              {service + scaled("DaemonSet", "dns", "{numberAvailable: 0}"), "DaemonSet kube-system/dns"},
		"one pod is available":     {service + scaled("Deployment", "coredns", "{availableReplicas: 1}"), ""},
		"one of two is available":  {service + scaled("DaemonSet", "a", "{numberAvailable: 1}") + scaled("Deployment", "b", "{}"), ""},
		"another Deployment is up": {service + scaled("Deployment", "coredns", "{}") + strings.Replace(scaled("Deployment", "b", "{availableReplicas: 1}"), "k8s-app: kube-dns", "k8s-app: b", 1), "Deployment kube-system/coredns"},
	} {
		if got, err := Unavailable(t.Context(), objects(t, test.stream)); got != test.want || err != nil {
			t.Errorf("%s: got %q, %v, want %q", name, got, err, test.want)
		}
	}
}

// readOnly is a client that only reads.
type readOnly struct {
	client.Client
	objects Objects
}

func (c readOnly) Get(ctx context.Context, key client.ObjectKey, o client.Object, options ...client.GetOption) error {
	if key.Namespace == "openshift-dns" {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, key.Name, nil)
	}
	return c.objects.Get(ctx, key, o, options...)
}

func (c readOnly) List(ctx context.Context, list client.ObjectList, options ...client.ListOption) error {
	return c.objects.List(ctx, list, options...)
}

// A block in a place that the cluster's DNS no longer uses is removed, unless the user names the place.
func TestUninstallFormerPlaces(t *testing.T) {
	const block = "{Corefile: \"# BEGIN atoll\\nclusterset.local {\\n}\\n# END atoll\\n\"}"
	stream := configMap("coredns", block) + configMap("nodelocaldns", block) + configMap("coredns-base", block)
	behindService := service + pods("Deployment", "coredns", behind, conf, "{name: coredns-base}")
	cache := configMap("node-local-dns-5f4d", cache) + pods("DaemonSet", "node-local-dns", "{}", "[-localip, x, -conf, /etc/Corefile]", "{name: node-local-dns-5f4d, items: [{key: Corefile, path: Corefile.base}]}")
	for _, test := range []struct {
		name, stream string
		place        client.ObjectKey
		forms        []dnswiring.Form
		want         string
	}{
		{name: "moved", stream: stream + behindService, want: "[coredns-base nodelocaldns coredns]"},
		{name: "both moved", stream: stream + behindService + cache, want: "[coredns-base coredns nodelocaldns]"},
		{name: "only the cache", stream: stream + behindService, forms: []dnswiring.Form{dnswiring.NodeLocal}, want: "[nodelocaldns]"},
		{name: "a place", stream: stream + behindService, place: system("coredns-base"), want: "[coredns-base nodelocaldns]"},
	} {
		changes, err := Edit(t.Context(), readOnly{objects: objects(t, test.stream)}, test.place, Uninstall(test.forms), true)
		var got []string
		for _, c := range changes {
			got = append(got, c.Object().GetName())
		}
		if fmt.Sprint(got) != test.want || err != nil {
			t.Errorf("%s: got %v, %v, want %s", test.name, got, err, test.want)
		}
	}
}
