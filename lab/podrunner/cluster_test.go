package podrunner

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/atoll-mcs/atoll/lab/echo"
	"github.com/atoll-mcs/atoll/lab/kubebin"
	"github.com/atoll-mcs/atoll/lab/network"
)

// The test program is also the pod runner and what runs in containers.
const (
	runnerArgument = "pod-runner-of-test"
	initArgument   = "container-init-of-test"
	echoArgument   = "echo-of-test"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case initArgument:
			ContainerInit()
		case runnerArgument:
			os.Exit(runRunner(os.Args[2]))
		case echoArgument:
			cmd := echo.NewCommand()
			cmd.SetArgs(os.Args[2:])
			if cmd.ExecuteContext(context.Background()) != nil {
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	code := m.Run()
	if shared != nil {
		if fault := shared.stop(); fault != "" && code == 0 {
			fmt.Fprintln(os.Stderr, "FAIL: the runner said:", fault)
			code = 1
		}
	}
	os.Exit(code)
}

func runRunner(configFile string) int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	cfg, err := ReadConfig(configFile)
	if err == nil {
		err = Run(ctx, cfg, log)
	}
	if err != nil {
		log.Error("running pods", "error", err)
		return 1
	}
	return 0
}

// cluster is a Kubernetes cluster of one node in a network namespace.
type cluster struct {
	dir, bin string
	ns       network.Namespace
	config   Config
	client   kubernetes.Interface
	ca       *authority
	programs []*program
	runner   *program

	namespaces int // so far
}

var (
	shared     *cluster
	sharedOnce sync.Once
	sharedErr  error
)

// needCluster returns the cluster that all tests share.
func needCluster(t *testing.T) *cluster {
	t.Helper()
	if testing.Short() || os.Getuid() != 0 {
		t.Skip("needs root, network namespaces and a Kubernetes cluster")
	}
	sharedOnce.Do(func() {
		shared = &cluster{ns: network.Namespace(fmt.Sprintf("prt-%d", os.Getpid()))}
		sharedErr = shared.start()
	})
	if sharedErr != nil {
		t.Fatal(sharedErr)
	}
	return shared
}

// testDir begins the name of a test's folder, which ends in its process id, as
// do the names of its namespaces.
var testDir = filepath.Join(os.TempDir(), "atoll-podrunner-test-")

// removeDead removes what tests left behind that were killed.
func removeDead() {
	dirs, _ := filepath.Glob(testDir + "*")
	for _, dir := range dirs {
		pid := strings.TrimPrefix(dir, testDir)
		if _, err := os.Stat("/proc/" + pid); err == nil {
			continue
		}
		_ = removeRemains(&Config{Lab: "prt" + pid, Cluster: "c9", StateDir: filepath.Join(dir, "state")})
		_ = network.Namespace("prt-" + pid).Delete()
		_ = os.RemoveAll(dir)
	}
}

func (c *cluster) start() error {
	ctx := context.Background()
	removeDead()
	var err error
	if c.bin, err = kubebin.Ensure(ctx, os.Stderr, ""); err != nil {
		return err
	}
	c.dir = fmt.Sprintf("%s%d", testDir, os.Getpid())
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return err
	}
	if err := c.network(); err != nil {
		return err
	}
	if err := c.credentials(); err != nil {
		return err
	}
	if err := c.controlPlane(ctx); err != nil {
		return err
	}
	return c.startRunner()
}

var nodeAddresses = []netip.Addr{netip.MustParseAddr("172.30.9.1"), netip.MustParseAddr("fd00:172:30::9:1")}

// network makes the node's namespace, with a lonely interface to hold its
// addresses.
func (c *cluster) network() error {
	if err := c.ns.Create(); err != nil {
		return err
	}
	if err := c.ns.CreateBridge(network.Interface); err != nil {
		return err
	}
	return c.ns.Do(func() error {
		link, err := netlink.LinkByName(network.Interface)
		if err != nil {
			return err
		}
		for _, a := range nodeAddresses {
			bits := map[bool]int{true: 16, false: 64}[a.Is4()]
			addr := &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(bits, a.BitLen())}, Flags: 2}
			if err := netlink.AddrAdd(link, addr); err != nil {
				return err
			}
		}
		if err := netlink.LinkSetUp(link); err != nil {
			return err
		}
		for _, all := range []string{"0.0.0.0/0", "::/0"} { // a way to service addresses
			_, dst, _ := net.ParseCIDR(all)
			if err := netlink.RouteAdd(&netlink.Route{LinkIndex: link.Attrs().Index, Dst: dst, Scope: netlink.SCOPE_LINK}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *cluster) path(name string) string { return filepath.Join(c.dir, name) }

func (c *cluster) credentials() error {
	var err error
	if c.ca, err = newAuthority(c.path("ca.crt")); err != nil {
		return err
	}
	ips := []net.IP{net.ParseIP("127.0.0.1"), net.ParseIP("10.109.0.1")}
	for _, a := range nodeAddresses {
		ips = append(ips, a.AsSlice())
	}
	if err := c.ca.issue(c.path("server"), pkix.Name{CommonName: "server"}, ips); err != nil {
		return err
	}
	if err := c.ca.issue(c.path("admin"), pkix.Name{CommonName: "admin", Organization: []string{"system:masters"}}, nil); err != nil {
		return err
	}
	if err := c.ca.issue(c.path("nobody"), pkix.Name{CommonName: "nobody"}, nil); err != nil {
		return err
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	if err := writePEM(c.path("sa.key"), "RSA PRIVATE KEY", x509.MarshalPKCS1PrivateKey(key)); err != nil {
		return err
	}
	kubeconfig := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c",
"clusters":[{"name":"c","cluster":{"server":"https://%s:6443","certificate-authority":%q}}],
"users":[{"name":"a","user":{"client-certificate":%q,"client-key":%q}}],
"contexts":[{"name":"c","context":{"cluster":"c","user":"a"}}]}`,
		nodeAddresses[0], c.path("ca.crt"), c.path("admin.crt"), c.path("admin.key"))
	return os.WriteFile(c.path("kubeconfig"), []byte(kubeconfig), 0o600)
}

func (c *cluster) controlPlane(ctx context.Context) error {
	for _, command := range [][]string{
		{"etcd", "--data-dir", c.path("etcd"), "--unsafe-no-fsync", "--listen-client-urls", "http://127.0.0.1:2379",
			"--advertise-client-urls", "http://127.0.0.1:2379", "--listen-peer-urls", "http://127.0.0.1:0"},
		{"kube-apiserver", "--etcd-servers", "http://127.0.0.1:2379", "--secure-port", "6443", "--bind-address", "0.0.0.0",
			"--advertise-address", nodeAddresses[0].String(), "--tls-cert-file", c.path("server.crt"), "--tls-private-key-file", c.path("server.key"),
			"--client-ca-file", c.path("ca.crt"), "--service-account-issuer", "https://kubernetes.default.svc",
			"--service-account-key-file", c.path("sa.key"), "--service-account-signing-key-file", c.path("sa.key"),
			"--service-cluster-ip-range", "10.109.0.0/16,fd00:20:9::/112", "--authorization-mode", "RBAC",
			"--kubelet-client-certificate", c.path("admin.crt"), "--kubelet-client-key", c.path("admin.key"),
			"--kubelet-certificate-authority", c.path("ca.crt"), "--kubelet-preferred-address-types", "InternalIP"},
		{"kube-controller-manager", "--kubeconfig", c.path("kubeconfig"), "--leader-elect=false",
			"--service-account-private-key-file", c.path("sa.key"), "--root-ca-file", c.path("ca.crt")},
		{"kube-scheduler", "--kubeconfig", c.path("kubeconfig"), "--leader-elect=false"},
	} {
		if command[0] == "kube-controller-manager" {
			if err := c.waitForAPI(ctx); err != nil {
				return err
			}
		}
		p, err := c.launch(command[0], filepath.Join(c.bin, command[0]), command[1:]...)
		if err != nil {
			return err
		}
		c.programs = append(c.programs, p)
	}
	return nil
}

func (c *cluster) waitForAPI(ctx context.Context) error {
	config, err := clientcmd.BuildConfigFromFlags("", c.path("kubeconfig"))
	if err != nil {
		return err
	}
	config.Dial, config.QPS = c.ns.DialContext, -1
	if c.client, err = kubernetes.NewForConfig(config); err != nil {
		return err
	}
	deadline := time.Now().Add(2 * time.Minute)
	for {
		_, err := c.client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("waiting for the API server: %w", err)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (c *cluster) startRunner() error {
	exe, err := os.Executable()
	if err != nil {
		return err
	}
	c.config = Config{
		Lab: "prt" + fmt.Sprint(os.Getpid()), Cluster: "c9", Kubeconfig: c.path("kubeconfig"), StateDir: c.path("state"),
		ClusterDomain: "cluster.local", ClusterDNS: []string{"10.109.0.10", "fd00:20:9::a"},
		Images: map[string][]string{"atoll.dev/lab/echo": {exe, echoArgument}},
		Nodes: []Node{{
			Name: "c9-n1", Zone: "z1", Region: "r1", Namespace: c.ns, Addresses: nodeAddresses,
			PodCIDRs: []netip.Prefix{netip.MustParsePrefix("10.9.1.0/24"), netip.MustParsePrefix("fd00:10:9:1::/64")},
		}},
		ServingCert: c.path("server.crt"), ServingKey: c.path("server.key"), ClientCA: c.path("ca.crt"),
		InitCommand: []string{exe, initArgument},
	}
	text, err := json.Marshal(c.config)
	if err != nil {
		return err
	}
	if err := os.WriteFile(c.path("runner.json"), text, 0o600); err != nil {
		return err
	}
	c.runner, err = c.launch("runner", exe, runnerArgument, c.path("runner.json"))
	return err
}

// stop ends everything, the runner first, and removes what was made. It returns
// what the runner said that it never should.
func (c *cluster) stop() (fault string) {
	if c.runner != nil {
		c.runner.end(syscall.SIGTERM)
	}
	for i := range c.programs {
		c.programs[len(c.programs)-1-i].end(syscall.SIGKILL)
	}
	log, _ := os.ReadFile(c.path("runner.log"))
	for _, bad := range []string{"DATA RACE", "panic: ", "clearing away", "removing container"} {
		if i := strings.Index(string(log), bad); i >= 0 {
			fault = string(log[max(0, i-500):min(len(log), i+3000)])
		}
	}
	_ = c.ns.Delete()
	_ = os.RemoveAll(c.dir)
	return fault
}

// program is a process in the node's namespace.
type program struct {
	cmd  *exec.Cmd
	done chan struct{}
}

// launch starts a program that ends with the test whatever becomes of it.
func (c *cluster) launch(name, path string, args ...string) (*program, error) {
	log, err := os.OpenFile(c.path(name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	p := &program{cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	started := make(chan error, 1)
	go func() {
		// The thread stays until the program ends: its end would be the program's.
		_ = c.ns.Do(func() error {
			defer close(p.done)
			err := p.cmd.Start()
			started <- err
			if err == nil {
				_ = p.cmd.Wait()
			}
			return nil
		})
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("starting %s: %w", name, err)
	}
	return p, nil
}

func (p *program) end(s syscall.Signal) {
	_ = p.cmd.Process.Signal(s)
	<-p.done
}

// kubectl runs kubectl as a user would; the error has what it said.
func (c *cluster) kubectl(stdin string, args ...string) (stdout string, err error) {
	cmd := exec.Command(filepath.Join(c.bin, "kubectl"), append([]string{"--kubeconfig", c.path("kubeconfig")}, args...)...)
	var out, errOut bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errOut
	err = c.ns.Do(cmd.Run)
	if err != nil {
		err = fmt.Errorf("kubectl %s: %w: %s", strings.Join(args, " "), err, bytes.TrimSpace(errOut.Bytes()))
	}
	return out.String(), err
}

// must runs kubectl, which has to succeed.
func (c *cluster) must(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	out, err := c.kubectl(stdin, args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// apply applies manifests to a namespace of the test's own, which is made for
// it, and returns the namespace.
func (c *cluster) apply(t *testing.T, manifests string) string {
	t.Helper()
	c.namespaces++
	namespace := fmt.Sprintf("%s-%d", strings.ToLower(t.Name()), c.namespaces)
	c.must(t, "", "create", "namespace", namespace)
	t.Cleanup(func() {
		if t.Failed() {
			c.explain(t, namespace)
		}
		if _, err := c.kubectl("", "delete", "namespace", namespace, "--wait=false"); err != nil {
			t.Error(err)
		}
	})
	// Pods are not let in before it has its service account, which a controller makes.
	c.must(t, "", "wait", "--for=create", "--timeout=2m", "-n", namespace, "serviceaccount/default")
	c.must(t, manifests, "apply", "-n", namespace, "-f", "-")
	return namespace
}

// explain logs what may help to understand a failure.
func (c *cluster) explain(t *testing.T, namespace string) {
	for _, args := range [][]string{
		{"get", "pods", "-n", namespace, "-o", "wide"},
		{"get", "pods", "-n", namespace, "-o", "jsonpath={range .items[*]}{.metadata.name}{\"\\n\"}{.status}{\"\\n\"}{end}"},
		{"get", "events", "-n", namespace},
	} {
		out, _ := c.kubectl("", args...)
		t.Log(out)
	}
	text, _ := os.ReadFile(c.path("runner.log"))
	t.Log(string(text[max(0, len(text)-8000):]))
}

// eventually polls until check is content.
func eventually(t *testing.T, what string, check func() (ok bool, seen string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		ok, seen := check()
		if ok {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: still %s", what, seen)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// authority issues certificates.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
	serial      int64
}

func newAuthority(file string) (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	a := &authority{key: key, serial: 1}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	if a.certificate, err = x509.ParseCertificate(der); err != nil {
		return nil, err
	}
	return a, writePEM(file, "CERTIFICATE", der)
}

// issue writes a certificate and its key to path with .crt and .key.
func (a *authority) issue(path string, subject pkix.Name, ips []net.IP) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	a.serial++
	template := &x509.Certificate{
		SerialNumber: big.NewInt(a.serial), Subject: subject, IPAddresses: ips,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return err
	}
	if err := writePEM(path+".crt", "CERTIFICATE", der); err != nil {
		return err
	}
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return err
	}
	return writePEM(path+".key", "EC PRIVATE KEY", keyDER)
}

func writePEM(file, kind string, der []byte) error {
	return os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}), 0o600)
}
