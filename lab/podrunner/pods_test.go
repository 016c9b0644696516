package podrunner

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/creack/pty"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const webManifest = `
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {colour: red, page: "one\n"}
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
      - name: web
        image: atoll.dev/lab/echo:latest
        env:
        - {name: NODE_NAME, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}
        - {name: COLOUR, valueFrom: {configMapKeyRef: {name: settings, key: colour}}}
        - {name: IPS, valueFrom: {fieldRef: {fieldPath: status.podIPs}}}
        ports: [{name: http, containerPort: 8080}]
        readinessProbe: {httpGet: {path: /healthz, port: http}, periodSeconds: 1, failureThreshold: 1}
        volumeMounts: [{name: settings, mountPath: /settings}]
      - name: side
        image: any
        command: ["/bin/sh", "-c", "trap 'echo bye; exit 0' TERM; echo begun; echo oops >&2; while :; do sleep 0.1; done"]
      volumes: [{name: settings, configMap: {name: settings}}]
`

// pods returns the Pods of a namespace that are not being deleted.
func (c *cluster) pods(t *testing.T, namespace string) []corev1.Pod {
	t.Helper()
	list, err := c.client.CoreV1().Pods(namespace).List(context.Background(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var pods []corev1.Pod
	for _, p := range list.Items {
		if p.DeletionTimestamp == nil {
			pods = append(pods, p)
		}
	}
	return pods
}

func ready(p corev1.Pod) bool {
	for _, c := range p.Status.Conditions {
		if c.Type == corev1.PodReady {
			return c.Status == corev1.ConditionTrue
		}
	}
	return false
}

// waitReady waits until exactly so many Pods are there and ready.
func (c *cluster) waitReady(t *testing.T, namespace string, count int) []corev1.Pod {
	t.Helper()
	var pods []corev1.Pod
	eventually(t, fmt.Sprintf("%d ready pods", count), func() (bool, string) {
		pods = c.pods(t, namespace)
		n := 0
		for _, p := range pods {
			if ready(p) {
				n++
			}
		}
		return n == count && len(pods) == count, fmt.Sprintf("%d of %d", n, len(pods))
	})
	return pods
}

// waitPod waits until a Pod is as it should be.
func (c *cluster) waitPod(t *testing.T, namespace, name, what string, check func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var pod *corev1.Pod
	eventually(t, name+" to be "+what, func() (bool, string) {
		var err error
		if pod, err = c.client.CoreV1().Pods(namespace).Get(context.Background(), name, metav1.GetOptions{}); err != nil {
			return false, err.Error()
		}
		return check(pod), fmt.Sprintf("%s %+v", pod.Status.Phase, pod.Status.ContainerStatuses)
	})
	return pod
}

func TestDeployment(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, webManifest)
	pods := c.waitReady(t, ns, 2)
	p := pods[0]
	if len(p.Status.PodIPs) != 2 || p.Status.PodIP != p.Status.PodIPs[0].IP || p.Status.HostIP != "172.30.9.1" {
		t.Errorf("addresses: %+v, host %s", p.Status.PodIPs, p.Status.HostIP)
	}
	inPod := func(script string) string {
		return c.must(t, "", "exec", "-n", ns, p.Name, "-c", "side", "--", "sh", "-c", script)
	}

	t.Run("environment and names", func(t *testing.T) {
		out := c.must(t, "", "exec", "-n", ns, p.Name, "-c", "web", "--", "sh", "-c",
			"echo $COLOUR $IPS $ATOLL_LAB_CLUSTER; cat /settings/page; hostname; cat /etc/resolv.conf; grep "+p.Name+" /etc/hosts")
		want := "red " + p.Status.PodIPs[0].IP + "," + p.Status.PodIPs[1].IP + " c9\none\n" + p.Name + "\n" +
			"search " + ns + ".svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.109.0.10\nnameserver fd00:20:9::a\n" +
			"options ndots:5\n" + p.Status.PodIPs[0].IP + "\t" + p.Name + "\n" + p.Status.PodIPs[1].IP + "\t" + p.Name + "\n"
		if out != want {
			t.Errorf("got %s\nwant %s", out, want)
		}
	})
	t.Run("network", func(t *testing.T) {
		for _, ip := range pods[1].Status.PodIPs {
			host := ip.IP
			if strings.Contains(host, ":") {
				host = "[" + host + "]"
			}
			want := "pod=" + pods[1].Name + " cluster=c9 node=c9-n1 remote="
			if out := inPod("curl -sgm 5 http://" + host + ":8080/"); !strings.HasPrefix(out, want) {
				t.Errorf("got %q", out)
			}
		}
		if out := inPod("curl -sm 5 http://127.0.0.1:8080/hostname"); out != p.Name {
			t.Errorf("containers do not share the network: %q", out)
		}
	})
	t.Run("exec", func(t *testing.T) {
		if _, err := c.kubectl("", "exec", "-n", ns, p.Name, "-c", "side", "--", "sh", "-c", "exit 7"); err == nil || !strings.Contains(err.Error(), "exit status 7") {
			t.Errorf("exit code: %v", err)
		}
		if out := c.must(t, "in\nput", "exec", "-i", "-n", ns, p.Name, "-c", "side", "--", "cat"); out != "in\nput" {
			t.Errorf("standard input: %q", out)
		}
		if _, err := c.kubectl("", "exec", "-n", ns, p.Name, "--", "no-such-program"); err == nil || !strings.Contains(err.Error(), "not found in $PATH") {
			t.Errorf("missing program: %v", err)
		}
		out, code := c.onTerminal(t, "exec", "-it", "-n", ns, p.Name, "-c", "side", "--",
			"sh", "-c", `tty; while [ "$(stty size)" != '7 90' ]; do :; done; echo right size; exit 5`)
		if code != 5 || !strings.HasPrefix(out, "/dev/pts/0\r\nright size\r\n") {
			t.Errorf("terminal: code %d: %q", code, out)
		}
	})
	t.Run("copy", func(t *testing.T) {
		from := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(from, []byte("content"), 0o644); err != nil {
			t.Fatal(err)
		}
		c.must(t, "", "cp", "-n", ns, "-c", "side", from, p.Name+":/srv/copied")
		if out := inPod("cat /srv/copied"); out != "content" {
			t.Errorf("got %q", out)
		}
		if _, err := os.Stat("/srv/copied"); err == nil {
			t.Error("the file is on the host")
		}
	})
	t.Run("logs", func(t *testing.T) {
		if out := c.must(t, "", "logs", "-n", ns, p.Name, "-c", "side"); !strings.Contains(out, "begun\n") || !strings.Contains(out, "oops\n") {
			t.Errorf("got %q", out)
		}
		out := c.must(t, "", "logs", "-n", ns, p.Name, "-c", "side", "--tail=1", "--timestamps")
		if at, err := time.Parse(time.RFC3339Nano, strings.Fields(out)[0]); err != nil || strings.Count(out, "\n") != 1 {
			t.Errorf("got %q: %v %v", out, at, err)
		}
	})
	t.Run("port-forward", func(t *testing.T) { c.testPortForward(t, ns, p.Name) })
	t.Run("readiness", func(t *testing.T) {
		inPod("curl -sm 5 http://127.0.0.1:8080/fail")
		c.waitPod(t, ns, p.Name, "unready", func(p *corev1.Pod) bool { return !ready(*p) })
		inPod("curl -sm 5 http://127.0.0.1:8080/recover")
		c.waitPod(t, ns, p.Name, "ready", func(p *corev1.Pod) bool { return ready(*p) })
	})
	t.Run("update of a ConfigMap", func(t *testing.T) {
		c.must(t, "", "patch", "configmap", "-n", ns, "settings", "-p", `{"data":{"page":"two\n"}}`)
		eventually(t, "the new page", func() (bool, string) {
			out := c.must(t, "", "exec", "-n", ns, p.Name, "-c", "web", "--", "cat", "/settings/page")
			return out == "two\n", out
		})
	})
	t.Run("termination", func(t *testing.T) {
		namespace := c.config.podNamespacePrefix() + string(p.UID)[:8]
		rest := c.follow(t, ns, p.Name, "side")
		began := time.Now()
		c.must(t, "", "delete", "pod", "-n", ns, p.Name)
		if took := time.Since(began); took > 2*time.Minute {
			t.Errorf("deletion took %s", took)
		}
		if out := rest(); !strings.HasSuffix(out, "bye\n") {
			t.Errorf("the container was not asked to end: %q", out)
		}
		eventually(t, "the namespace to go", func() (bool, string) {
			_, err := os.Stat("/run/netns/" + namespace)
			return os.IsNotExist(err), "there"
		})
		c.waitReady(t, ns, 2)
	})
}

func (c *cluster) testPortForward(t *testing.T, ns, pod string) {
	cmd := exec.Command(filepath.Join(c.bin, "kubectl"), "--kubeconfig", c.path("kubeconfig"), "port-forward", "-n", ns, pod, ":8080")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ns.Do(cmd.Start); err != nil {
		t.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	line, err := bufio.NewReader(out).ReadString('\n') // Forwarding from 127.0.0.1:PORT -> 8080
	fields := strings.Fields(line)
	if err != nil || len(fields) < 3 {
		t.Fatalf("got %q, %v", line, err)
	}
	client := &http.Client{Transport: &http.Transport{DialContext: c.ns.DialContext}, Timeout: 10 * time.Second}
	for range 3 {
		response, err := client.Get("http://" + fields[2] + "/hostname")
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(response.Body)
		response.Body.Close()
		if err != nil || string(body) != pod {
			t.Fatalf("got %q, %v", body, err)
		}
	}
}

func TestStatefulSet(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: v1
kind: Service
metadata: {name: db}
spec: {clusterIP: None, selector: {app: db}}
---
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec:
  serviceName: db
  replicas: 2
  selector: {matchLabels: {app: db}}
  template:
    metadata: {labels: {app: db}}
    spec:
      terminationGracePeriodSeconds: 1
      containers: [{name: db, image: any, command: ["sleep", "inf"]}]
`)
	c.waitReady(t, ns, 2)
	for i := range 2 {
		name := fmt.Sprintf("db-%d", i)
		want := fmt.Sprintf("%s\n%s.db.%s.svc.cluster.local\n", name, name, ns)
		if out := c.must(t, "", "exec", "-n", ns, name, "--", "sh", "-c", "hostname; hostname -f"); out != want {
			t.Errorf("got %q, want %q", out, want)
		}
	}
	// The same name, another Pod.
	old := c.pods(t, ns)[0]
	c.must(t, "", "delete", "pod", "-n", ns, "db-0", "--force", "--grace-period=0")
	pod := c.waitPod(t, ns, "db-0", "made anew", func(p *corev1.Pod) bool { return p.UID != old.UID && ready(*p) })
	if pod.Status.PodIP == old.Status.PodIP {
		t.Errorf("address %s was used again at once", pod.Status.PodIP)
	}
}

func TestJobs(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: good}
spec: {template: {spec: {restartPolicy: Never, containers: [{name: j, image: any, command: ["echo", "done"]}]}}}
---
apiVersion: batch/v1
kind: Job
metadata: {name: retried}
spec:
  template:
    spec:
      restartPolicy: OnFailure
      volumes: [{name: data, emptyDir: {}}]
      containers:
      - name: j
        image: any
        command: ["sh", "-c", "echo run; test -e /data/tried && exit 0; touch /data/tried; exit 1"]
        volumeMounts: [{name: data, mountPath: /data}]
---
apiVersion: batch/v1
kind: Job
metadata: {name: bad}
spec: {backoffLimit: 0, template: {spec: {restartPolicy: Never, containers: [{name: j, image: any, command: ["sh", "-c", "exit 3"]}]}}}
`)
	for job, condition := range map[string]string{"good": "Complete", "retried": "Complete", "bad": "Failed"} {
		c.must(t, "", "wait", "-n", ns, "--for=condition="+condition, "--timeout=60s", "job/"+job)
	}
	if out := c.must(t, "", "logs", "-n", ns, "job/good"); out != "done\n" {
		t.Errorf("log of a completed pod: %q", out)
	}
	for _, p := range c.pods(t, ns) {
		s := p.Status.ContainerStatuses[0]
		switch p.Labels["job-name"] {
		case "good":
			if p.Status.Phase != corev1.PodSucceeded || s.State.Terminated.Reason != "Completed" {
				t.Errorf("%s: %+v", p.Name, p.Status)
			}
		case "retried":
			if s.RestartCount != 1 || s.LastTerminationState.Terminated == nil || s.LastTerminationState.Terminated.ExitCode != 1 {
				t.Errorf("%s: %+v", p.Name, s)
			}
			if out := c.must(t, "", "logs", "-p", "-n", ns, p.Name); out != "run\n" {
				t.Errorf("previous log: %q", out)
			}
		case "bad":
			if p.Status.Phase != corev1.PodFailed || s.State.Terminated.ExitCode != 3 {
				t.Errorf("%s: %+v", p.Name, p.Status)
			}
		}
	}
}

func TestServiceAccountToken(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: view}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: view}
subjects: [{kind: ServiceAccount, name: default}]
---
apiVersion: v1
kind: Pod
metadata: {name: client}
spec:
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: any, command: ["sleep", "inf"]}]
`)
	c.waitReady(t, ns, 1)
	out := c.must(t, "", "exec", "-n", ns, "client", "--", "sh", "-c", `cd /var/run/secrets/kubernetes.io/serviceaccount
curl -sm 10 --cacert ca.crt -H "Authorization: Bearer $(cat token)" https://172.30.9.1:6443/api/v1/namespaces/$(cat namespace)/pods/client
echo; echo $KUBERNETES_SERVICE_HOST:$KUBERNETES_SERVICE_PORT`)
	if !strings.Contains(out, `"name": "client"`) || !strings.HasSuffix(out, "\n10.109.0.1:443\n") {
		t.Errorf("got %s", out)
	}
}

func TestProbesAndRestarts(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: sick}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - name: c
    image: any
    command: ["sh", "-c", "echo run; touch /tmp/well; sleep inf"]
    startupProbe: {exec: {command: ["test", "-e", "/tmp/well"]}, periodSeconds: 1, timeoutSeconds: 30}
    livenessProbe: {exec: {command: ["test", "-e", "/tmp/well"]}, periodSeconds: 1, timeoutSeconds: 30, failureThreshold: 2}
---
apiVersion: v1
kind: Pod
metadata: {name: crashing}
spec:
  containers: [{name: c, image: any, command: ["sh", "-c", "echo last words > /dev/termination-log; exit 9"]}]
---
apiVersion: v1
kind: Pod
metadata: {name: no-program}
spec: {containers: [{name: c, image: any, command: ["no-such-program"]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: no-image}
spec: {containers: [{name: c, image: nginx}]}
---
apiVersion: v1
kind: Pod
metadata: {name: no-config}
spec: {containers: [{name: c, image: any, command: ["sleep", "inf"], envFrom: [{configMapRef: {name: later}}]}]}
---
apiVersion: v1
kind: Pod
metadata: {name: no-volume}
spec:
  containers: [{name: c, image: any, command: ["sleep", "inf"], volumeMounts: [{name: v, mountPath: /v}]}]
  volumes: [{name: v, secret: {secretName: later}}]
---
apiVersion: v1
kind: Pod
metadata: {name: overdue}
spec:
  activeDeadlineSeconds: 1
  terminationGracePeriodSeconds: 1
  containers: [{name: c, image: any, command: ["sleep", "inf"]}]
`)
	waiting := func(reason, message string) func(*corev1.Pod) bool {
		return func(p *corev1.Pod) bool {
			s := p.Status.ContainerStatuses
			return len(s) > 0 && s[0].State.Waiting != nil && s[0].State.Waiting.Reason == reason &&
				strings.Contains(s[0].State.Waiting.Message, message)
		}
	}
	running := func(p *corev1.Pod) bool { return ready(*p) }

	c.waitPod(t, ns, "sick", "running", running)
	c.must(t, "", "exec", "-n", ns, "sick", "--", "rm", "/tmp/well")
	c.waitPod(t, ns, "sick", "restarted", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount == 1 && ready(*p) })

	c.waitPod(t, ns, "crashing", "looping", waiting("CrashLoopBackOff", "back-off"))
	pod := c.waitPod(t, ns, "crashing", "restarted", func(p *corev1.Pod) bool { return p.Status.ContainerStatuses[0].RestartCount >= 2 })
	last := pod.Status.ContainerStatuses[0].LastTerminationState.Terminated
	if last == nil || last.ExitCode != 9 || last.Message != "last words\n" {
		t.Errorf("last state %+v", last)
	}
	c.waitPod(t, ns, "no-program", "failing", func(p *corev1.Pod) bool {
		s := p.Status.ContainerStatuses
		return len(s) > 0 && s[0].LastTerminationState.Terminated != nil && s[0].LastTerminationState.Terminated.ExitCode == 128 &&
			strings.Contains(s[0].LastTerminationState.Terminated.Message, "not found in $PATH")
	})
	c.waitPod(t, ns, "no-image", "without image", waiting("ErrImagePull", "give the container a command"))
	c.waitPod(t, ns, "no-config", "without config", waiting("CreateContainerConfigError", `configmap "later" not found`))
	c.must(t, "", "create", "configmap", "-n", ns, "later", "--from-literal=a=b")
	c.waitPod(t, ns, "no-config", "running", running)
	c.waitPod(t, ns, "no-volume", "without volume", waiting("ContainerCreating", ""))
	c.must(t, "", "create", "secret", "generic", "-n", ns, "later", "--from-literal=a=b")
	c.waitPod(t, ns, "no-volume", "running", running)
	c.waitPod(t, ns, "overdue", "failed", func(p *corev1.Pod) bool {
		return p.Status.Phase == corev1.PodFailed && p.Status.Reason == "DeadlineExceeded"
	})
}

func TestContainersOfAPod(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: staged, labels: {app: x}}
spec:
  terminationGracePeriodSeconds: 1
  restartPolicy: Never
  initContainers:
  - {name: first, image: any, command: ["sh", "-c", "echo first > /data/log"], volumeMounts: [{name: data, mountPath: /data}]}
  - name: sidecar
    image: any
    restartPolicy: Always
    command: ["sh", "-c", "echo sidecar >> /data/log; touch /data/up; sleep inf"]
    startupProbe: {exec: {command: ["test", "-e", "/data/up"]}, periodSeconds: 1, timeoutSeconds: 30}
    volumeMounts: [{name: data, mountPath: /data}]
  - {name: second, image: any, command: ["sh", "-c", "echo second >> /data/log"], volumeMounts: [{name: data, mountPath: /data}]}
  containers:
  - name: main
    image: any
    command: ["sh", "-c", "exec 2>&1; cat /data/log; id -u; cat /info/app /key/sub; echo x > /key/sub; exit 0"]
    securityContext: {runAsUser: 1234}
    volumeMounts: [{name: data, mountPath: /data}, {name: info, mountPath: /info}, {name: key, mountPath: /key/sub, subPath: k}]
  volumes:
  - {name: data, emptyDir: {medium: Memory}}
  - {name: info, downwardAPI: {items: [{path: app, fieldRef: {fieldPath: "metadata.labels['app']"}}]}}
  - {name: key, secret: {secretName: key}}
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {k: "value\n"}
---
apiVersion: v1
kind: Pod
metadata: {name: hooked}
spec:
  terminationGracePeriodSeconds: 10
  containers:
  - name: c
    image: any
    command: ["sh", "-c", "trap 'cat /tmp/hook; exit' TERM; echo up; while :; do sleep 0.1; done"]
    lifecycle:
      postStart: {exec: {command: ["sh", "-c", "echo started > /tmp/hook"]}}
      preStop: {exec: {command: ["sh", "-c", "echo stopping >> /tmp/hook"]}}
`)
	c.waitPod(t, ns, "staged", "done", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
	want := "first\nsidecar\nsecond\n1234\nxvalue\nsh: 1: cannot create /key/sub: Read-only file system\n"
	if out := c.must(t, "", "logs", "-n", ns, "staged", "-c", "main"); out != want {
		t.Errorf("got %q, want %q", out, want)
	}
	c.waitPod(t, ns, "hooked", "ready", func(p *corev1.Pod) bool { return ready(*p) })
	rest := c.follow(t, ns, "hooked", "c")
	c.must(t, "", "delete", "pod", "-n", ns, "hooked")
	if out := rest(); out != "started\nstopping\n" {
		t.Errorf("hooks: %q", out)
	}
}

// onTerminal runs kubectl on a terminal of 7 lines of 90 characters.
func (c *cluster) onTerminal(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig", c.path("kubeconfig")}, args...)...)
	var terminal *os.File
	err := c.ns.Do(func() (err error) {
		terminal, err = pty.StartWithSize(cmd, &pty.Winsize{Rows: 7, Cols: 90})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	defer terminal.Close()
	text, _ := io.ReadAll(terminal) // ends with EIO
	_ = cmd.Wait()
	return string(text), cmd.ProcessState.ExitCode()
}

// follow follows a container's log. It returns when it has read a line; rest
// returns what comes then, up to the container's end.
func (c *cluster) follow(t *testing.T, ns, pod, container string) (rest func() string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(c.bin, "kubectl"), "--kubeconfig", c.path("kubeconfig"), "logs", "-f", "-n", ns, pod, "-c", container)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.ns.Do(cmd.Start); err != nil {
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

func TestAttach(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, `
apiVersion: v1
kind: Pod
metadata: {name: chatty}
spec:
  restartPolicy: Never
  containers: [{name: c, image: any, stdin: true, stdinOnce: true, command: ["sh", "-c", "while read x; do echo got $x; done; echo end"]}]
`)
	c.waitReady(t, ns, 1)
	if out := c.must(t, "one\ntwo\n", "attach", "-i", "-n", ns, "chatty"); !strings.Contains(out, "got one\ngot two\nend\n") {
		t.Errorf("got %q", out)
	}
	c.waitPod(t, ns, "chatty", "done", func(p *corev1.Pod) bool { return p.Status.Phase == corev1.PodSucceeded })
}

func TestKubeletAPIWantsACertificate(t *testing.T) {
	c := needCluster(t)
	get := func(name string) (int, error) {
		config := &tls.Config{InsecureSkipVerify: true}
		if name != "" {
			pair, err := tls.LoadX509KeyPair(c.path(name+".crt"), c.path(name+".key"))
			if err != nil {
				t.Fatal(err)
			}
			config.Certificates = []tls.Certificate{pair}
		}
		client := &http.Client{Transport: &http.Transport{DialContext: c.ns.DialContext, TLSClientConfig: config}}
		response, err := client.Get(fmt.Sprintf("https://172.30.9.1:%d/healthz", kubeletPort))
		if err != nil {
			return 0, err
		}
		response.Body.Close()
		return response.StatusCode, nil
	}
	if code, err := get("admin"); code != http.StatusOK {
		t.Errorf("admin: %d, %v", code, err)
	}
	if code, err := get("nobody"); code != http.StatusForbidden {
		t.Errorf("nobody: %d, %v", code, err)
	}
	if _, err := get(""); err == nil {
		t.Error("no certificate was accepted")
	}
}

// containers lists their first processes: those of this test program, for another package's may run beside it.
func (c *cluster) containers() string {
	out, _ := exec.Command("pgrep", "-f", regexp.QuoteMeta(strings.Join(c.config.InitCommand, " "))).Output() // fails where there are none
	return string(out)
}

// TestCrash kills the runner that all tests share, and starts it again.
func TestCrash(t *testing.T) {
	c := needCluster(t)
	ns := c.apply(t, webManifest)
	before := c.waitReady(t, ns, 2)
	if c.containers() == "" {
		t.Fatal("the containers are not found")
	}
	c.runner.end(syscall.SIGKILL)
	eventually(t, "the containers to end", func() (bool, string) {
		out := c.containers()
		return out == "", out
	})
	// While it is down, one Pod goes.
	c.must(t, "", "delete", "pod", "-n", ns, before[0].Name, "--force", "--grace-period=0")
	if err := c.startRunner(); err != nil {
		t.Fatal(err)
	}
	c.waitPod(t, ns, before[1].Name, "restarted", func(p *corev1.Pod) bool {
		return ready(*p) && p.Status.ContainerStatuses[0].RestartCount == 1
	})
	after := c.waitReady(t, ns, 2)
	for _, p := range after {
		for _, old := range before {
			if p.Status.PodIP == old.Status.PodIP {
				t.Errorf("%s has an address that was in use before", p.Name)
			}
		}
	}
	c.must(t, "", "delete", "deployment,pods", "--all", "-n", ns)
	c.runner.end(syscall.SIGTERM)
	if left, _ := filepath.Glob("/run/netns/" + c.config.podNamespacePrefix() + "*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if left, _ := filepath.Glob(c.config.podsDir() + "/*"); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
	if out := c.containers(); out != "" {
		t.Errorf("processes left behind: %s", out)
	}
	if mounts, _ := os.ReadFile("/proc/self/mountinfo"); strings.Contains(string(mounts), c.config.StateDir) {
		t.Error("mounts left behind")
	}
	if err := c.startRunner(); err != nil {
		t.Fatal(err)
	}
}
