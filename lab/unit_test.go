package lab

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/lab/network"
)

// testLab lays out a lab in a folder of the test's, without starting it.
func testLab(t *testing.T, s Shape) *Lab {
	t.Helper()
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, err := labFolder(s.Name)
	if err != nil {
		t.Fatal(err)
	}
	l := &Lab{Spec: newSpec(s), dir: dir}
	l.Spec.Programs, l.Spec.Atoll = "/programs", "/bin/atoll"
	if err := l.Spec.choosePorts(); err != nil {
		t.Fatal(err)
	}
	if err := l.save(); err != nil {
		t.Fatal(err)
	}
	return l
}

func TestComponents(t *testing.T) {
	full := testLab(t, Shape{Name: "full", Clusters: 2, Nodes: 2, IPFamily: Dual})
	c2, broker := &full.Spec.Clusters[1], &full.Spec.Clusters[2]
	api := testLab(t, Shape{Name: "api", Clusters: 1, Nodes: 1, IPFamily: IPv6, ControlPlaneOnly: true})
	c1 := &api.Spec.Clusters[0]
	for name, test := range map[string]struct {
		unit      Unit
		namespace network.Namespace
		want      []string
	}{
		"etcd": {full.etcd(c2), "atoll-full-c2-n1", []string{"/programs/etcd", "--listen-client-urls=http://127.0.0.1:2379"}},
		"apiserver": {full.apiServer(c2), "atoll-full-c2-n1", []string{
			"/programs/kube-apiserver", "--bind-address=::", "--secure-port=6443", "--advertise-address=172.30.2.1",
			"--service-cluster-ip-range=10.102.0.0/16,fd00:20:2::/112", "--etcd-servers=http://127.0.0.1:2379", "--endpoint-reconciler-type=lease",
		}},
		"apiserver on loopback": {api.apiServer(c1), "", []string{
			"--bind-address=127.0.0.1", "--advertise-address=::1", "--service-cluster-ip-range=fd00:20:1::/112",
			"--etcd-servers=http://" + c1.Etcd.String(), "--endpoint-reconciler-type=none",
		}},
		"controllers":          {full.controllerManager(c2), "atoll-full-c2-n1", []string{"--controllers=*", "--cluster-cidr=10.2.0.0/16,fd00:10:2::/48"}},
		"controllers, broker":  {full.controllerManager(broker), "atoll-full-broker", []string{"--controllers=" + strings.Join(brokerControllers, ",")}},
		"scheduler":            {full.scheduler(c2), "atoll-full-c2-n1", []string{"/programs/kube-scheduler"}},
		"kube-proxy, 2nd node": {full.kubeProxy(c2, &c2.Nodes[1], 2), "atoll-full-c2-n2", []string{"/programs/kube-proxy", "--config=" + full.Dir("c2") + "/kube-proxy-n2.yaml"}},
	} {
		t.Run(name, func(t *testing.T) {
			if test.unit.Namespace != test.namespace {
				t.Errorf("in %q, want %q", test.unit.Namespace, test.namespace)
			}
			for _, arg := range test.want {
				if !slices.Contains(test.unit.Argv, arg) {
					t.Errorf("no %s in %s", arg, strings.Join(test.unit.Argv, "\n"))
				}
			}
		})
	}
}

func TestKubeProxyConfig(t *testing.T) {
	for family, want := range map[IPFamily]map[string]string{
		IPv6: {"hostnameOverride": "c2-n2", "clusterCIDR": "fd00:10:2::/48", "healthzBindAddress": "[fd00:172:30::2:2]:10256"},
		Dual: {"hostnameOverride": "c2-n2", "clusterCIDR": "10.2.0.0/16,fd00:10:2::/48", "healthzBindAddress": "172.30.2.2:10256"},
	} {
		l := testLab(t, Shape{Name: "x", Clusters: 2, Nodes: 2, IPFamily: family})
		c := &l.Spec.Clusters[1]
		var config map[string]any
		if err := yaml.Unmarshal([]byte(l.kubeProxy(c, &c.Nodes[1], 2).Files["kube-proxy-n2.yaml"]), &config); err != nil {
			t.Fatal(err)
		}
		for key, value := range want {
			if config[key] != value {
				t.Errorf("%s: %s is %v, want %s", family, key, config[key], value)
			}
		}
	}
}

func TestFind(t *testing.T) {
	l := testLab(t, Shape{Name: "x", Clusters: 2, Nodes: 1, IPFamily: IPv4})
	for _, name := range []string{"c1/etcd", "c1/kube-proxy-n1", "c1/kube-proxy-n2", "c1/agent", "c1/agent-1", "c1/agent-dns", "c2/etcd", "lab/gateway"} {
		cluster, unit, _ := strings.Cut(name, "/")
		path := l.unitFile(cluster, unit)
		if err := writeFile(path, []byte(`{"Cluster":"`+cluster+`","Name":"`+unit+`"}`), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for target, want := range map[string]string{
		"c1/etcd":          "c1/etcd",
		"c1/kube-proxy":    "c1/kube-proxy-n1 c1/kube-proxy-n2",
		"c1/kube-proxy-n2": "c1/kube-proxy-n2",
		"c1/agent":         "c1/agent c1/agent-1",
		"lab/gateway":      "lab/gateway",
		"c1/kube":          "",
		"c1":               "",
		"c1/":              "",
		"c3/etcd":          "",
		"../etcd":          "",
		"c1/../c2/etcd":    "",
	} {
		units, err := l.find(target)
		var got []string
		for _, u := range units {
			got = append(got, u.String())
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: %v, want %s", target, got, want)
		}
		if (want == "") != errors.Is(err, ErrUsage) {
			t.Errorf("%s: error %v", target, err)
		}
	}
}

// TestRun starts, kills and starts a unit with a probe again.
func TestRun(t *testing.T) {
	l := testLab(t, Shape{Name: "x", Clusters: 1, Nodes: 1, IPFamily: IPv4, ControlPlaneOnly: true})
	t.Cleanup(func() { _ = l.stop(context.Background()) })
	u := Unit{
		Cluster: "c1", Name: "sleeper", Argv: []string{"/bin/sh", "sleeper.sh"}, Env: []string{"TIME=1000"},
		Files: map[string]string{"sleeper.sh": "echo $ATOLL_LAB; exec sleep $TIME"},
	}
	if err := l.Run(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if !l.alive(u) {
		t.Error("not alive after Run")
	}
	for range 2 { // killing what is dead, and starting what runs, is no error
		if err := l.Kill(t.Context(), "c1/sleeper"); err != nil {
			t.Fatal(err)
		}
		if l.alive(u) {
			t.Error("alive after Kill")
		}
	}
	for range 2 {
		if err := l.Start(t.Context(), "c1/sleeper"); err != nil {
			t.Fatal(err)
		}
		if !l.alive(u) {
			t.Error("not alive after Start")
		}
	}
	status, err := l.Status()
	if err != nil || len(status) != 1 || !status[0].Running || status[0].PID == 0 {
		t.Errorf("status %+v, %v", status, err)
	}

	u.Name, u.Argv, u.Probe = "quitter", []string{"/bin/sh", "-c", "echo because; exit 3"}, "tcp://"+l.Spec.Clusters[0].Loopback.String()
	if err := l.Run(t.Context(), u); err != nil {
		t.Fatal(err)
	}
	if err := l.waitProbe(t.Context(), u); err == nil || !strings.Contains(err.Error(), "because") {
		t.Errorf("waiting for a unit that ends: %v, want the end of its log", err)
	}
	if err := l.Run(t.Context(), Unit{Cluster: "c1", Name: "../x", Argv: []string{"true"}}); err == nil {
		t.Error("ran a unit outside of its folder")
	}
	if err := l.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l.alive(u) {
		t.Error("alive after Down")
	}
	if _, err := os.Stat(l.dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder after Down: %v", err)
	}
	if err := l.Down(t.Context()); !errors.Is(err, ErrNoLab) {
		t.Errorf("second Down: %v", err)
	}
}

func TestLock(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	unlock, err := lock(t.Context(), "x", 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := lock(t.Context(), "x", 0); err == nil {
		t.Error("locked twice")
	}
	other, err := lock(t.Context(), "y", 0)
	if err != nil {
		t.Errorf("another lab: %v", err)
	}
	other()
	got := make(chan error, 1)
	go func() {
		unlock, err := lock(t.Context(), "x", time.Minute)
		if err == nil {
			unlock()
		}
		got <- err
	}()
	unlock()
	if err := <-got; err != nil {
		t.Errorf("waiting for the lock: %v", err)
	}
	names, err := List()
	if err != nil || len(names) != 0 {
		t.Errorf("locks are labs: %v, %v", names, err)
	}
}

func TestRoutes(t *testing.T) {
	s := newSpec(Shape{Name: "x", Clusters: 2, Nodes: 2, IPFamily: IPv4})
	var got []string
	for _, r := range s.routes("c1", &s.Clusters[0].Nodes[1]) {
		got = append(got, strings.TrimSuffix(r.To.String()+" "+r.Via.String(), " invalid IP"))
	}
	want := []string{
		"10.1.1.0/24 172.30.1.1",
		"10.2.1.0/24 172.30.2.1", "10.102.0.0/16 172.30.2.1",
		"10.2.2.0/24 172.30.2.2",
		"10.100.0.0/16 172.30.0.1",
		"0.0.0.0/0",
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	dual := newSpec(Shape{Name: "x", Clusters: 3, Nodes: 3, IPFamily: Dual})
	for _, r := range dual.routes(Broker, &dual.Clusters[3].Nodes[0]) {
		if r.Via.IsValid() && r.Via.Is4() != r.To.Addr().Is4() {
			t.Errorf("%s via %s", r.To, r.Via)
		}
	}
}

// TestMixedFamilies shows that nodes of different families have routes to each other
// exactly where both ends have a family, and that everybody reaches the broker.
func TestMixedFamilies(t *testing.T) {
	s := newSpec(Shape{Name: "x", Clusters: 3, Nodes: 1, IPFamily: "ipv4,ipv6,dual"})
	for i, want := range []struct{ server, routes string }{
		{"172.30.0.1:6443", "10.3.1.0/24 10.103.0.0/16 10.100.0.0/16 0.0.0.0/0"},
		{"[fd00:172:30::1]:6443", "fd00:10:3:1::/64 fd00:20:3::/112 fd00:20::/112 ::/0"},
		{"172.30.0.1:6443", "10.1.1.0/24 10.101.0.0/16 fd00:10:2:1::/64 fd00:20:2::/112 10.100.0.0/16 fd00:20::/112 0.0.0.0/0 ::/0"},
	} {
		c, broker := &s.Clusters[i], &s.Clusters[3]
		if got := broker.serverFor(c).String(); got != want.server {
			t.Errorf("%s reaches the broker at %s, want %s", c.Name, got, want.server)
		}
		if got := c.serverFor(c); got != c.APIServer {
			t.Errorf("%s reaches itself at %s, want %s", c.Name, got, c.APIServer)
		}
		var got []string
		for _, r := range s.routes(c.Name, &c.Nodes[0]) {
			got = append(got, r.To.String())
		}
		if got := strings.Join(got, " "); got != want.routes {
			t.Errorf("%s has routes to\n%s\nwant\n%s", c.Name, got, want.routes)
		}
	}
}

func TestClusterDNS(t *testing.T) {
	for family, want := range map[IPFamily][]any{IPv4: {"10.101.0.10"}, IPv6: {"fd00:20:1::a"}, Dual: {"10.101.0.10", "fd00:20:1::a"}} {
		c := newSpec(Shape{Name: "x", Clusters: 1, Nodes: 1, IPFamily: family}).Clusters[0]
		objects, err := parse(clusterDNS(&c, DNSAtoll))
		if err != nil {
			t.Fatal(err)
		}
		service := objects[len(objects)-1]
		spec, _ := service.Object["spec"].(map[string]any)
		if d := cmp.Diff(want, spec["clusterIPs"]); service.GetName() != "kube-dns" || d != "" {
			t.Errorf("%s: %s %s", family, service.GetName(), d)
		}
	}
}

func TestOpen(t *testing.T) {
	l := testLab(t, Shape{Name: "x", Clusters: 1, Nodes: 1, IPFamily: Dual})
	same, err := Open("x")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(l.Spec, same.Spec, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
		cmp.Comparer(func(a, b netip.Addr) bool { return a == b }), cmp.Comparer(func(a, b netip.AddrPort) bool { return a == b })); d != "" {
		t.Error(d)
	}
	if _, err := Open("y"); !errors.Is(err, ErrNoLab) {
		t.Errorf("no lab: %v", err)
	}
	if _, err := Open("../x"); !errors.Is(err, ErrUsage) {
		t.Errorf("no name: %v", err)
	}
	if err := os.WriteFile(filepath.Join(l.dir, "lab.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open("x"); err == nil || errors.Is(err, ErrNoLab) {
		t.Errorf("damaged: %v", err)
	}
}
