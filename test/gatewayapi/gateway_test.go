package gatewayapi

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

const (
	controller = "github.com/envoyproxy/gateway"
	program    = controller + "/cmd/envoy-gateway"
	image      = "docker.io/envoyproxy/gateway:test"
	system     = "envoy-gateway-system"
	namespace  = "shop"
	// patience is how long the test waits for any effect.
	patience = time.Minute
)

// used is the health of endpoints that a proxy sends requests to.
const used = "UNKNOWN"

// TestServiceImport routes to the clusterset IP of a ServiceImport. It also shows that the
// controller finds no endpoints without this setting: when it does, the documentation can change.
func TestServiceImport(t *testing.T) {
	if os.Getenv("ATOLL_NIGHTLY") == "" {
		t.Skip("runs nightly, or with: make test-gateway")
	}
	binary := buildController(t)
	w := start(t)
	w.installController(t, binary)
	w.resolved(t)
	p := w.proxy(t)

	// The controller takes imported EndpointSlices for those of the derived Service only, because they have its label.
	w.kubectl(t, "", "--context", "c1", "wait", "httproute/web", "-n", namespace, "--timeout=1m",
		`--for=jsonpath={.status.parents[0].conditions[?(@.type=="BackendsAvailable")].reason}=EndpointsNotFound`)

	w.kubectl(t, toClusterIP, "--context", "c1", "apply", "-f", "-")
	address := w.kubectl(t, "", "--context", "c1", "get", "serviceimport", "web", "-n", namespace, "-o", "jsonpath={.spec.ips[0]}")
	await(t, p, "the clusterset IP", func(s state) bool {
		return maps.Equal(s.endpoints, map[string]string{address + ":80": used})
	})
}

// world is a lab of two clusters with Atoll. Both export a Service.
type world struct {
	lab, folder   string
	program       string // atoll
	environment   []string
	kubectlBinary string
}

// start starts the lab, and exports the Service.
func start(t *testing.T) *world {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	programs := os.Getenv("ATOLL_PROGRAMS")
	if programs == "" {
		programs = filepath.Join(root, "bin")
	}
	w := &world{lab: fmt.Sprintf("gateway-%d", os.Getpid()), folder: t.TempDir(), program: filepath.Join(programs, "atoll"), environment: os.Environ()}
	if given := os.Getenv("ATOLL_LAB"); given != "" {
		w.lab = given // the developer's, which stays
	} else {
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // the test's context is canceled
			defer cancel()
			if out, err := exec.CommandContext(ctx, w.program, "lab", "down", "--name", w.lab).CombinedOutput(); err != nil {
				t.Errorf("ending lab %s: %v\n%s", w.lab, err, out)
			}
		})
		w.atoll(t, "lab", "up", "--name", w.lab, "--clusters", "2")
	}
	kubeconfig := strings.TrimSpace(w.atoll(t, "lab", "kubeconfig", "--name", w.lab))
	w.environment = append(w.environment, "KUBECONFIG="+kubeconfig, "HELM_CACHE_HOME="+w.folder, "HELM_CONFIG_HOME="+w.folder, "HELM_DATA_HOME="+w.folder)
	w.kubectlBinary = filepath.Join(strings.TrimSpace(w.atoll(t, "lab", "programs")), "kubectl")
	for _, cluster := range []string{"c1", "c2"} {
		w.kubectl(t, web, "--context", cluster, "apply", "-f", "-")
		w.kubectl(t, export, "--context", cluster, "apply", "-f", "-")
	}
	for _, cluster := range []string{"c1", "c2"} {
		w.kubectl(t, "", "--context", cluster, "rollout", "status", "deployment/web", "-n", namespace, "--timeout=2m")
	}
	return w
}

// buildController builds the controller in the version that go.mod pins. The first build takes
// minutes.
func buildController(t *testing.T) (binary string) {
	binary = filepath.Join(t.TempDir(), "envoy-gateway")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", binary, program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	run(t, build, "")
	return binary
}

// installController installs Envoy Gateway with its own chart, and a Gateway with a route to the
// ServiceImport.
func (w *world) installController(t *testing.T, binary string) {
	archive := filepath.Join(w.folder, "image.tar")
	if err := writeImage(archive, image, "envoy-gateway", binary); err != nil {
		t.Fatal(err)
	}
	w.atoll(t, "lab", "load", archive, "--name", w.lab)

	chart := filepath.Join(run(t, exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", controller), ""), "charts", "gateway-helm")
	find := exec.CommandContext(t.Context(), "go", "tool", "-modfile=tools/go.mod", "-n", "helm")
	find.Dir = "../.."
	// The chart's values are in a template whose variables are these images.
	helm := exec.CommandContext(t.Context(), run(t, find, ""), "upgrade", "--install", "eg", chart, "--kube-context", "c1",
		"--namespace", system, "--create-namespace", "--wait", "--timeout", "3m", "--values", filepath.Join(chart, "values.tmpl.yaml"),
		"--set", "global.images.envoyGateway.image="+image, "--set", "global.images.envoyGateway.pullPolicy=Never")
	helm.Env = w.environment
	run(t, helm, "")
	w.kubectl(t, gateway, "--context", "c1", "apply", "-f", "-")
}

// proxy connects to the controller with the certificate that it gives to its proxies.
func (w *world) proxy(t *testing.T) *proxy {
	var secret struct{ Data map[string]string }
	if err := json.Unmarshal([]byte(w.kubectl(t, "", "--context", "c1", "get", "secret", "envoy", "-n", system, "-o", "json")), &secret); err != nil {
		t.Fatal(err)
	}
	part := func(name string) []byte {
		content, err := base64.StdEncoding.DecodeString(secret.Data[name])
		if err != nil {
			t.Fatalf("%s of the certificate: %v", name, err)
		}
		return content
	}
	certificate, err := tls.X509KeyPair(part("tls.crt"), part("tls.key"))
	if err != nil {
		t.Fatal(err)
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(part("ca.crt"))
	connection, err := grpc.NewClient("passthrough:///"+w.forward(t), grpc.WithNoProxy(), grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{certificate}, RootCAs: authorities, ServerName: "envoy-gateway",
	})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { connection.Close() })
	p, err := follow(t.Context(), connection, namespace+"/eg")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// forward forwards a local port to the controller's xDS server until the test ends.
func (w *world) forward(t *testing.T) (address string) {
	forward := exec.CommandContext(t.Context(), w.kubectlBinary, "--context", "c1", "port-forward", "-n", system, "deployment/envoy-gateway", ":18000")
	forward.Env, forward.Stderr = w.environment, t.Output()
	stdout, err := forward.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := forward.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { forward.Wait() }) // the canceled context has killed it
	line, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		t.Fatalf("kubectl port-forward: %v", err)
	}
	found := regexp.MustCompile(`from (127\.0\.0\.1:\d+) `).FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("kubectl port-forward printed %q", line)
	}
	return found[1]
}

// resolved requires that the controller has accepted the reference to the ServiceImport.
func (w *world) resolved(t *testing.T) {
	w.kubectl(t, "", "--context", "c1", "wait", "httproute/web", "-n", namespace, "--timeout=1m",
		`--for=jsonpath={.status.parents[0].conditions[?(@.type=="ResolvedRefs")].status}=True`)
}

// await waits until the proxy's state is as wanted.
func await(t *testing.T, p *proxy, what string, wanted func(state) bool) {
	t.Helper()
	begin, deadline := time.Now(), time.After(patience)
	for {
		s, changed, err := p.look()
		if wanted(s) {
			t.Logf("%s, after %s: %s", what, time.Since(begin).Round(time.Millisecond), s)
			return
		}
		if err != nil {
			t.Fatalf("%s: the stream has ended: %v", what, err)
		}
		select {
		case <-changed:
		case <-deadline:
			t.Fatalf("not within %s: %s; the proxy has %s", patience, what, s)
		}
	}
}

func (w *world) atoll(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), w.program, args...)
	command.Env = w.environment
	return run(t, command, "")
}

func (w *world) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), w.kubectlBinary, args...)
	command.Env = w.environment
	return run(t, command, stdin)
}

// run runs a program and returns its trimmed standard output.
func run(t *testing.T, command *exec.Cmd, stdin string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = strings.NewReader(stdin), &stdout, &stderr
	if err := command.Run(); err != nil {
		t.Fatalf("%s: %v\n%s%s", strings.Join(command.Args, " "), err, stdout.Bytes(), stderr.Bytes())
	}
	return strings.TrimSpace(stdout.String())
}
