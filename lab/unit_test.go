package lab

import (
	"context"
	"errors"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// testLab creates the files of a lab without starting it.
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
	for range 2 { // killing a dead unit and starting a running unit are not errors
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
