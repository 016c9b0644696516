package lab_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/atoll-mcs/atoll/internal/cli"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/lab/process"
)

// TestMain also runs this program as atoll, because a lab's units are subcommands of atoll.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "lab" {
		os.Exit(cli.Main(os.Args, os.Stdin, os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// options configures a lab with a unique name. The cleanup deletes the lab.
func options(t *testing.T, s lab.Shape) lab.Options {
	t.Helper()
	if testing.Short() {
		t.Skip("needs API servers")
	}
	if !s.ControlPlaneOnly && os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	s.Name, s.Bare = fmt.Sprintf("t%d", os.Getpid()), true
	t.Cleanup(func() {
		if err := lab.Down(context.Background(), s.Name); err != nil && !errors.Is(err, lab.ErrNoLab) {
			t.Error(err)
		}
	})
	return lab.Options{Shape: s, Progress: t.Output()}
}

func up(t *testing.T, o lab.Options) *lab.Lab {
	t.Helper()
	l, err := lab.Up(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// processes finds the processes of a lab's units without the lab's records.
func processes(t *testing.T, name string) []string {
	t.Helper()
	environments, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, path := range environments {
		data, _ := os.ReadFile(path)
		if bytes.Contains(append([]byte{0}, data...), []byte("\x00ATOLL_LAB="+name+"\x00")) {
			found = append(found, filepath.Base(filepath.Dir(path)))
		}
	}
	return found
}

// down deletes the lab and checks that nothing is left.
func down(t *testing.T, l *lab.Lab) {
	t.Helper()
	if err := l.Down(t.Context()); err != nil {
		t.Fatal(err)
	}
	if left := processes(t, l.Name()); len(left) > 0 {
		t.Errorf("processes after Down: %v", left)
	}
	namespaces, err := network.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range namespaces {
		if strings.HasPrefix(string(n), "atoll-"+l.Name()+"-") {
			t.Errorf("namespace after Down: %s", n)
		}
	}
	if entries, _ := os.ReadDir(filepath.Dir(l.Dir(""))); len(entries) > 0 {
		t.Errorf("files after Down: %v", entries)
	}
}

// pids returns the process ids of the units.
func pids(t *testing.T, l *lab.Lab) map[string]int {
	t.Helper()
	status, err := l.Status()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]int{}
	for _, s := range status {
		if !s.Running {
			t.Errorf("%s does not run", s.Unit)
		}
		all[s.String()] = s.PID
	}
	return all
}

func TestControlPlaneOnly(t *testing.T) {
	o := options(t, lab.Shape{Clusters: 1, Nodes: 1, IPFamily: lab.Dual, ControlPlaneOnly: true})
	l := up(t, o)
	for _, context := range []string{"c1", lab.Broker} {
		config, err := l.RESTConfig(context)
		if err != nil {
			t.Fatal(err)
		}
		client := kubernetes.NewForConfigOrDie(config)
		service, err := client.CoreV1().Services("default").Get(t.Context(), "kubernetes", metav1.GetOptions{})
		if err != nil {
			t.Fatalf("%s: %v", context, err)
		}
		if want := map[string]string{"c1": "10.101.0.1", lab.Broker: "10.100.0.1"}[context]; service.Spec.ClusterIP != want {
			t.Errorf("%s: kubernetes at %s, want %s", context, service.Spec.ClusterIP, want)
		}
	}

	before := pids(t, l)
	if err := l.Kill(t.Context(), "c1/apiserver"); err != nil {
		t.Fatal(err)
	}
	if err := l.Start(t.Context(), "c1/apiserver"); err != nil {
		t.Fatal(err)
	}
	after := pids(t, l)
	if before["c1/apiserver"] == after["c1/apiserver"] || before["broker/apiserver"] != after["broker/apiserver"] {
		t.Errorf("before %v, after %v", before, after)
	}
	config, err := l.RESTConfig("c1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := kubernetes.NewForConfigOrDie(config).CoreV1().Namespaces().Get(t.Context(), "default", metav1.GetOptions{}); err != nil {
		t.Errorf("after a restart, at the same address: %v", err)
	}
	if err := l.Cut(t.Context(), "c1", lab.Broker); !errors.Is(err, lab.ErrUsage) {
		t.Errorf("cutting a cluster without a network: %v", err)
	}
	down(t, l)
}

// TestLabUpDown tests the life of a lab with pods, including crashes.
func TestLabUpDown(t *testing.T) {
	o := options(t, lab.Shape{Clusters: 1, Nodes: 2, IPFamily: lab.Dual})
	bystander := bystander(t, o.Name)

	interruptedUp(t, o)
	if len(processes(t, o.Name)) == 0 {
		t.Fatal("the interrupted lab left no process, so this test checks nothing")
	}
	l := up(t, o)
	kubectl(t, l)

	before := pids(t, l)
	same := up(t, o)
	if after := pids(t, same); fmt.Sprint(before) != fmt.Sprint(after) {
		t.Errorf("a second Up changed %v to %v", before, after)
	}
	other := o
	other.Clusters = 2
	if _, err := lab.Up(t.Context(), other); err == nil || !strings.Contains(err.Error(), "lab down") {
		t.Errorf("Up with another shape: %v", err)
	}
	cutAndHeal(t, l)

	for _, unit := range []string{"c1/kubelet", "c1/containerd", "c1/apiserver", "c1/etcd", "lab/gateway"} {
		if err := l.Kill(t.Context(), unit); err != nil {
			t.Fatal(err)
		}
	}
	up(t, o)
	kubectl(t, l)
	if after := pids(t, l); after["c1/scheduler"] != before["c1/scheduler"] || after["c1/etcd"] == before["c1/etcd"] {
		t.Errorf("Up with some units dead changed %v to %v", before, after)
	}

	killAll(t, l)
	l = up(t, o)
	kubectl(t, l)
	down(t, l)
	if !bystander.Exists() {
		t.Errorf("%s, which does not belong to the lab, was deleted", bystander)
	}
}

// killAll kills all processes that the lab has recorded, without using the lab.
func killAll(t *testing.T, l *lab.Lab) {
	t.Helper()
	records, err := filepath.Glob(filepath.Join(l.Dir("*"), "units", "*.pid"))
	if err != nil || len(records) == 0 {
		t.Fatalf("records: %v, %v", records, err)
	}
	for _, path := range records {
		r, err := process.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Stop(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
	}
}

// bystander creates a network namespace with a name similar to the lab's.
func bystander(t *testing.T, name string) network.Namespace {
	t.Helper()
	n := network.Namespace("atoll-" + name + "x-c1-n1")
	if err := n.Create(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = n.Delete() })
	return n
}

// interruptedUp kills an `atoll lab up` when its first API server has been started.
func interruptedUp(t *testing.T, o lab.Options) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "lab", "up", "--name", o.Name, "--clusters", "1", "--nodes", "2", "--ip-family", "dual", "--bare")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	record := filepath.Join(os.Getenv("XDG_STATE_HOME"), "atoll", "labs", o.Name, "c1", "units", "apiserver.pid")
	for deadline := time.Now().Add(time.Minute); ; {
		if _, err := os.Stat(record); err == nil {
			break
		}
		if time.Now().After(deadline) {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			t.Fatalf("no API server after a minute: %s", stderr.String())
		}
		<-time.After(time.Millisecond)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
}

// kubectl checks that kubectl on the host and in the lab's network sees two ready nodes.
func kubectl(t *testing.T, l *lab.Lab) {
	t.Helper()
	const condition = `jsonpath={range .items[*]}{.metadata.name}={.status.conditions[?(@.type=="Ready")].status} {end}`
	args := []string{filepath.Join(l.Spec.Programs, "kubectl"), "get", "nodes", "-o", condition}
	out, err := exec.Command(args[0], append([]string{"--kubeconfig", l.Kubeconfig(), "--context", "c1"}, args[1:]...)...).CombinedOutput()
	const want = "c1-n1=True c1-n2=True "
	if err != nil || string(out) != want {
		t.Errorf("kubectl on the host: %v: %q, want %q", err, out, want)
	}
	if got := output(t, l, "c1/n2", args...); got != want {
		t.Errorf("kubectl in the lab: %q, want %q", got, want)
	}
	if got := output(t, l, lab.Broker, "kubectl", "version", "--client"); !strings.Contains(got, l.Spec.Kubernetes) {
		t.Errorf("kubectl found by its name beside the broker is %q, want the lab's, %s", got, l.Spec.Kubernetes)
	}
}

// output runs a program in the lab and fails the test if the program fails.
func output(t *testing.T, l *lab.Lab, target string, args ...string) string {
	t.Helper()
	var out, stderr bytes.Buffer
	if err := l.Exec(t.Context(), target, args, lab.Streams{Out: &out, Err: &stderr}); err != nil {
		t.Errorf("%s in %s: %v: %s", args[0], target, err, stderr.String())
	}
	return out.String()
}

// cutAndHeal calls the cluster's API server from the broker.
func cutAndHeal(t *testing.T, l *lab.Lab) {
	t.Helper()
	c1, err := l.Spec.Cluster("c1")
	if err != nil {
		t.Fatal(err)
	}
	broker, err := l.Namespace(lab.Broker)
	if err != nil {
		t.Fatal(err)
	}
	call := func(timeout time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		defer cancel()
		c, err := broker.DialContext(ctx, "tcp", c1.APIServer.String())
		if err == nil {
			_ = c.Close()
		}
		return err
	}
	const soon, long = 300 * time.Millisecond, 10 * time.Second
	if err := call(long); err != nil {
		t.Errorf("before the cut: %v", err)
	}
	if err := l.Cut(t.Context(), lab.Broker, "c1"); err != nil {
		t.Fatal(err)
	}
	if call(soon) == nil {
		t.Error("connected through the cut")
	}
	again, err := lab.Open(l.Name())
	if err != nil || len(again.Spec.Cuts) != 1 {
		t.Errorf("recorded cuts: %v, %v", again.Spec.Cuts, err)
	}
	if err := l.HealAll(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := call(long); err != nil {
		t.Errorf("after healing: %v", err)
	}
	if len(l.Spec.Cuts) != 0 {
		t.Errorf("cuts after healing: %v", l.Spec.Cuts)
	}
}
