package lab_test

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/atoll-mcs/atoll/lab"
)

// podLab is a lab with a single node. Each test has its own namespace.
type podLab struct {
	*lab.Lab
	client kubernetes.Interface
}

// newPodLab starts a podLab.
func newPodLab(t *testing.T) *podLab {
	t.Helper()
	p := &podLab{Lab: up(t, options(t, lab.Shape{Clusters: 1, Nodes: 1, IPFamily: lab.Dual}))}
	config, err := p.RESTConfig("c1")
	if err != nil {
		t.Fatal(err)
	}
	p.client = kubernetes.NewForConfigOrDie(config)
	return p
}

// TestPods runs pods with the lab's images, and checks that the lab leaves no files of them
// behind.
func TestPods(t *testing.T) {
	before := time.Now()
	p := newPodLab(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T)
	}{
		{"deployment", p.testDeployment}, {"certificates", p.testKubeletAPIWantsACertificate}, {"any tag", p.testAnyTag}, {"crash", p.testCrash},
	} {
		t.Run(test.name, test.run)
	}
	addresses, _ := filepath.Glob(filepath.Join(p.Dir("*"), "nodes", "*", "containerd", "state", "io.containerd.runtime.v2.task", "k8s.io", "*", "address"))
	var sockets []string
	for _, file := range addresses {
		address, _ := os.ReadFile(file)
		sockets = append(sockets, strings.TrimPrefix(strings.TrimSpace(string(address)), "unix://"))
	}
	down(t, p.Lab)
	for _, socket := range sockets {
		if _, err := os.Stat(socket); !os.IsNotExist(err) {
			t.Errorf("left behind: %s", socket)
		}
	}
	if len(sockets) == 0 {
		t.Error("no socket of a container's shim was found")
	}
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); strings.Contains(string(mounts), p.Dir("")) {
		t.Error("mounts left behind")
	}
	for _, pattern := range []string{"/sys/fs/cgroup/atoll-" + p.Name() + "-*", "/sys/fs/cgroup/*/atoll-" + p.Name() + "-*"} {
		for _, path := range added(t, before, pattern) {
			t.Errorf("left behind: %s", path)
		}
	}
	for _, pattern := range []string{"/var/lib/cni/results/*", "/var/log/containers/*"} {
		for _, path := range added(t, before, pattern) {
			target, _ := os.Readlink(path)
			if data, _ := os.ReadFile(path); strings.Contains(string(data)+target, p.Dir("")) {
				t.Errorf("left behind: %s", path)
			}
		}
	}
}

// added returns the files that match a pattern and were created since a time.
func added(t *testing.T, since time.Time, pattern string) (files []string) {
	t.Helper()
	all, err := filepath.Glob(pattern)
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range all {
		if info, err := os.Lstat(file); err == nil && info.ModTime().After(since) {
			files = append(files, file)
		}
	}
	return files
}

// testAnyTag checks that the lab's images replace well-known images with any tag. Users of
// busybox try wget first.
func (p *podLab) testAnyTag(t *testing.T) {
	ns := p.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: tools, labels: {app: tools}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {name: netshoot, image: "nicolaka/netshoot:v0.13", command: ["sleep", "1000"]}
  - {name: busybox, image: busybox, command: ["sleep", "1000"]}
  - {name: echo, image: atoll.dev/lab/echo}
---
apiVersion: v1
kind: Service
metadata: {name: web}
spec:
  selector: {app: tools}
  ports: [{port: 80, targetPort: 8080}]
`)
	p.waitReady(t, ns, 1)
	out := p.must(t, "", "exec", "-n", ns, "tools", "-c", "netshoot", "--", "sh", "-c", "curl -sS http://127.0.0.1:8080/; dig +short kubernetes.default.svc.cluster.local; echo hi | socat - EXEC:cat")
	if ok, _ := regexp.MatchString(`^pod=tools cluster=c1 node=c1-n1 remote=127.0.0.1 proto=http\n10\..*\nhi\n$`, out); !ok {
		t.Errorf("the tools say %q", out)
	}
	for _, options := range []string{"-qO-", "-qO- -T 5", "-q --timeout=5 -O -"} {
		eventually(t, "an answer to wget "+options, func() (bool, string) {
			out, err := p.kubectl("", "exec", "-n", ns, "tools", "-c", "busybox", "--", "sh", "-c", "wget "+options+" web")
			return strings.HasPrefix(out, "pod=tools cluster=c1 "), fmt.Sprint(out, err)
		})
	}
}

func (p *podLab) command(args ...string) *exec.Cmd {
	args = append([]string{"--kubeconfig", p.Kubeconfig(), "--context", "c1"}, args...)
	return exec.Command(filepath.Join(p.Spec.Programs, "kubectl"), args...)
}

// kubectl runs kubectl. The error has its standard error.
func (p *podLab) kubectl(stdin string, args ...string) (stdout string, err error) {
	cmd := p.command(args...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	if err = cmd.Run(); err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errOut.Bytes()))
	}
	return out.String(), err
}

func (p *podLab) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := p.kubectl(stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies manifests to a new namespace and returns its name.
func (p *podLab) apply(t *testing.T, manifests string) string {
	t.Helper()
	_, name, _ := strings.Cut(t.Name(), "/")
	ns := strings.ToLower(strings.ReplaceAll(name, "_", "-"))
	p.must(t, "", "create", "namespace", ns)
	t.Cleanup(func() {
		if t.Failed() {
			out, _ := p.kubectl("", "get", "pods,events", "-n", ns, "-o", "wide")
			t.Log(out)
		}
		if _, err := p.kubectl("", "delete", "namespace", ns, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	// The API server accepts Pods once a controller has created the service account.
	p.must(t, "", "wait", "--for=create", "--timeout=2m", "-n", ns, "serviceaccount/default")
	p.must(t, manifests, "apply", "-n", ns, "-f", "-")
	return ns
}

func eventually(t *testing.T, what string, check func() (ok bool, seen string)) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); ; <-time.After(50 * time.Millisecond) {
		ok, seen := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: still %s", what, seen)
		}
	}
}

func ready(p corev1.Pod) bool {
	return slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

// waitReady waits until a namespace has exactly this many Pods, all ready.
func (p *podLab) waitReady(t *testing.T, ns string, count int) (pods []corev1.Pod) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d ready pods", count), func() (bool, string) {
		list, err := p.client.CoreV1().Pods(ns).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		pods = slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool { return pod.DeletionTimestamp != nil })
		return len(pods) == count && !slices.ContainsFunc(pods, func(pod corev1.Pod) bool { return !ready(pod) }), fmt.Sprint(len(pods))
	})
	return pods
}

// waitPod waits until check accepts a Pod.
func (p *podLab) waitPod(t *testing.T, ns, name, what string, check func(*corev1.Pod) bool) (pod *corev1.Pod) {
	t.Helper()
	eventually(t, name+" to be "+what, func() (bool, string) {
		var err error
		if pod, err = p.client.CoreV1().Pods(ns).Get(t.Context(), name, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		return check(pod), fmt.Sprintf("%s %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
	})
	return pod
}

// follow follows a container's log. It returns after the first line; rest returns all later
// lines.
func (p *podLab) follow(t *testing.T, ns, pod, container string) (rest func() string) {
	t.Helper()
	cmd := p.command("logs", "-f", "-n", ns, pod, "-c", container)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	if line, err := reader.ReadString('\n'); err != nil {
		t.Fatalf("following the log: got %q, %v", line, err)
	}
	return func() string {
		text, _ := io.ReadAll(reader)
		_ = cmd.Wait()
		return string(text)
	}
}

const sideManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {page: "one\n"}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      terminationGracePeriodSeconds: 300
      containers:
      - name: side
        image: debian
        command: ["/bin/sh", "-c", "trap 'echo bye; exit 0' TERM; echo begun; while :; do sleep 0.1; done"]
        volumeMounts: [{name: settings, mountPath: /settings}]
      volumes: [{name: settings, configMap: {name: settings}}]
`

func (p *podLab) testDeployment(t *testing.T) {
	ns := p.apply(t, sideManifest)
	pod := p.waitReady(t, ns, 2)[0]
	inPod := func(script string) string { return p.must(t, "", "exec", "-n", ns, pod.Name, "--", "sh", "-c", script) }

	from := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(from, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	p.must(t, "", "cp", "-n", ns, from, pod.Name+":/srv/copied")
	if out := inPod("cat /srv/copied"); out != "content" {
		t.Errorf("copied: %q", out)
	}
	if _, err := os.Stat("/srv/copied"); err == nil {
		t.Error("the copied file is on the host")
	}
	out := p.must(t, "", "logs", "-n", ns, pod.Name, "--tail=1", "--timestamps")
	if at, err := time.Parse(time.RFC3339Nano, strings.Fields(out)[0]); err != nil || strings.Count(out, "\n") != 1 {
		t.Errorf("log: %q: %v %v", out, at, err)
	}
	p.must(t, "", "patch", "configmap", "-n", ns, "settings", "-p", `{"data":{"page":"two\n"}}`)
	eventually(t, "the new page", func() (bool, string) {
		out := inPod("cat /settings/page")
		return out == "two\n", out
	})
	terminal, code := p.onTerminal(t, "exec", "-it", "-n", ns, pod.Name, "--",
		"sh", "-c", `tty; while [ "$(stty size)" != '7 90' ]; do :; done; echo right size; exit 5`)
	if code != 5 || !strings.HasPrefix(terminal, "/dev/pts/0\r\nright size\r\n") {
		t.Errorf("terminal: code %d: %q", code, terminal)
	}

	rest := p.follow(t, ns, pod.Name, "side")
	p.must(t, "", "delete", "pod", "-n", ns, pod.Name, "--timeout=2m")
	if out := rest(); out != "bye\n" {
		t.Errorf("the container was not asked to end: %q", out)
	}
	eventually(t, "the pod's processes to go", func() (bool, string) {
		n, err := lab.PodNetwork(pod.UID)
		return err != nil, string(n)
	})
	p.waitReady(t, ns, 2)
}

// onTerminal runs kubectl on a terminal of 7 lines of 90 characters.
func (p *podLab) onTerminal(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := p.command(args...)
	terminal, err := pty.StartWithSize(cmd, &pty.Winsize{Rows: 7, Cols: 90})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	text, _ := io.ReadAll(terminal) // ends with EIO
	_ = cmd.Wait()
	return string(text), cmd.ProcessState.ExitCode()
}

func (p *podLab) testKubeletAPIWantsACertificate(t *testing.T) {
	node, err := p.client.CoreV1().Nodes().Get(t.Context(), "c1-n1", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	namespace, err := p.Namespace("c1")
	if err != nil {
		t.Fatal(err)
	}
	get := func(user string, groups ...string) (int, error) {
		config := &tls.Config{InsecureSkipVerify: true}
		if user != "" {
			config.Certificates = []tls.Certificate{p.certificate(t, user, groups...)}
		}
		client := &http.Client{Transport: &http.Transport{DialContext: namespace.DialContext, TLSClientConfig: config}}
		response, err := client.Get(fmt.Sprintf("https://%s:%d/healthz", node.Status.Addresses[0].Address, node.Status.DaemonEndpoints.KubeletEndpoint.Port))
		if err != nil {
			return 0, err
		}
		response.Body.Close()
		return response.StatusCode, nil
	}
	if code, err := get("admin", "system:masters"); code != http.StatusOK {
		t.Errorf("admin: %d, %v", code, err)
	}
	if code, err := get("nobody"); code != http.StatusForbidden {
		t.Errorf("nobody: %d, %v", code, err)
	}
	if code, err := get(""); err != nil || code != http.StatusUnauthorized {
		t.Errorf("no certificate: %d, %v", code, err)
	}
}

func (p *podLab) certificate(t *testing.T, user string, groups ...string) tls.Certificate {
	t.Helper()
	kubeconfig, err := p.UserKubeconfig("c1", user, groups...)
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err == nil {
		err = rest.LoadTLSFiles(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(config.CertData, config.KeyData)
	if err != nil {
		t.Fatal(err)
	}
	return pair
}

// testCrash kills and restarts the kubelet and the container runtime. Containers keep running
// unless they are deleted.
func (p *podLab) testCrash(t *testing.T) {
	ns := p.apply(t, sideManifest)
	before := p.waitReady(t, ns, 2)
	for _, unit := range []string{"c1/kubelet", "c1/containerd"} {
		if err := p.Kill(t.Context(), unit); err != nil {
			t.Fatal(err)
		}
	}
	p.must(t, "", "delete", "pod", "-n", ns, before[0].Name, "--force", "--grace-period=0")
	for _, unit := range []string{"c1/containerd", "c1/kubelet"} {
		if err := p.Start(t.Context(), unit); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the deleted pod to end", func() (bool, string) {
		n, err := lab.PodNetwork(before[0].UID)
		return err != nil, string(n)
	})
	p.waitReady(t, ns, 2)
	p.waitPod(t, ns, before[1].Name, "running all the time", func(pod *corev1.Pod) bool {
		return ready(*pod) && pod.UID == before[1].UID && pod.Status.ContainerStatuses[0].RestartCount == 0
	})
}
