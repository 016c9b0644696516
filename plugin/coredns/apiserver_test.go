package coredns

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coredns/caddy"
	"github.com/miekg/dns"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/mcs-api/config/crd"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/lab/kubebin"
	"github.com/atoll-mcs/atoll/test/objects"
)

// cluster is an API server, and a DNS server with only the permissions of the deployment.
type cluster struct {
	*testing.T
	env    *envtest.Environment
	client client.Client
	// server is replaced when its Corefile is reloaded.
	server *caddy.Instance
	ready  string // the URL of the ready plugin
	file   string // the server's kubeconfig
}

// TestWithAPIServer tests a server with a real API server, from the start to an outage.
func TestWithAPIServer(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an API server")
	}
	c := newCluster(t)
	c.installRBAC()
	c.startDNS()

	// There is no ServiceImport kind yet, so not all caches can be synced.
	c.want("web.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeServerFailure)
	c.wantReady(http.StatusServiceUnavailable)
	c.installCRDs()
	c.eventually("nothing.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError)
	c.wantReady(http.StatusOK)

	c.create(objects.Namespace("shop"))
	c.testHeadless()
	c.testPointers()
	c.testReload()
	c.testFailedReload()
	c.testOutage()
}

func (c *cluster) testHeadless() {
	db := objects.Import("shop", "db")
	db.Spec.Type, db.Spec.Ports = mcsv1beta1.Headless, []mcsv1beta1.ServicePort{{Name: "p80", Protocol: corev1.ProtocolTCP, Port: 80}}
	c.create(db)
	c.eventually("shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess)
	c.want("db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError)

	slice := imported("db", "c1.eu", "db-x7k2p.c1.eu", "10.1.0.1", "10.1.0.2", "10.1.0.3")
	slice.Endpoints[0].Hostname, slice.Endpoints[2].Conditions.Ready = ptr.To("db-0"), ptr.To(false)
	unlabelled := slice.DeepCopy()
	unlabelled.Name, unlabelled.Labels = "local", map[string]string{discoveryv1.LabelServiceName: "db"}
	c.create(unlabelled)
	c.create(slice)
	c.eventually("db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, "10.1.0.1", "10.1.0.2")
	c.want("db-0.c1.eu.db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, "10.1.0.1")
	c.want("10-1-0-2.c1.eu.db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, "10.1.0.2")
	c.want("c1.eu.db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess)
	c.want("c1.db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError)
	c.want("_p80._tcp.db.shop.svc.clusterset.local.", dns.TypeSRV, dns.RcodeSuccess,
		"0 50 8080 10-1-0-2.c1.eu.db.shop.svc.clusterset.local.", "0 50 8080 db-0.c1.eu.db.shop.svc.clusterset.local.")
}

// imported returns an imported slice of a service from a cluster.
func imported(service, cluster, name string, addresses ...string) *discoveryv1.EndpointSlice {
	s := objects.Slice("shop", name, service, addresses...)
	s.Labels = map[string]string{mcsv1beta1.LabelServiceName: service, mcsv1beta1.LabelSourceCluster: cluster}
	return s
}

// testReload changes the Corefile. The server must not lose its objects.
func (c *cluster) testReload() {
	server, err := c.server.Restart(input(c.corefile("ttl 77")))
	c.must(err)
	c.server = server
	m := c.query("udp", "db-0.c1.eu.db.shop.svc.clusterset.local.", dns.TypeA)
	if len(m.Answer) != 1 || m.Answer[0].Header().Ttl != 77 {
		c.Errorf("right after a reload: %v", m)
	}
}

// testFailedReload reloads a Corefile whose server cannot start, because its address belongs to
// another machine. All parts that were started for it must stop again.
func (c *cluster) testFailedReload() {
	const zone = "elsewhere.test."
	if _, err := c.server.Restart(input(c.corefile("ttl 79") + strings.Replace(c.corefile(""), "clusterset.local:0 {", zone+":0 {\nbind 192.0.2.1", 1))); err == nil {
		c.Error("a reload with an address that is not there went through")
	}
	if labels := handlerLabels(c.T); slices.Contains(labels, zone) {
		c.Errorf("after a failed reload the handlers are %q", labels)
	}
	m := c.query("udp", "db-0.c1.eu.db.shop.svc.clusterset.local.", dns.TypeA)
	if len(m.Answer) != 1 || m.Answer[0].Header().Ttl != 77 {
		c.Errorf("after a failed reload: %v", m)
	}
}

// handlerLabels returns the zones of the handlers that currently export metrics.
func handlerLabels(t *testing.T) (labels []string) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() == "coredns_clusterset_service_imports" {
			for _, m := range family.GetMetric() {
				labels = append(labels, m.GetLabel()[0].GetValue())
			}
		}
	}
	return labels
}

// testOutage kills the API server. No response changes, and a reload that cannot read objects
// does not replace the running server.
func (c *cluster) testOutage() {
	if err := c.env.ControlPlane.APIServer.Stop(); err != nil {
		c.Log(err) // the error says that the API server had to be killed
	}
	if _, err := c.server.Restart(input(c.corefile("ttl 78"))); err == nil {
		c.Error("a reload without API server went through")
	}
	c.wantAsBefore()
}

func (c *cluster) wantAsBefore() {
	c.Helper()
	c.want("db-0.c1.eu.db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, "10.1.0.1")
	c.want("db.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeSuccess, "10.1.0.1", "10.1.0.2", "10.2.0.1")
	c.want("nothing.shop.svc.clusterset.local.", dns.TypeA, dns.RcodeNameError)
	c.wantReady(http.StatusOK)
}

// newCluster starts an API server without any of Atoll's CRDs.
func newCluster(t *testing.T) *cluster {
	folders, err := kubebin.Ensure(t.Context(), os.Stderr, "", "")
	if err != nil {
		t.Fatal(err)
	}
	c := &cluster{T: t, env: &envtest.Environment{
		BinaryAssetsDirectory:    folders[0],
		ControlPlaneStartTimeout: 3 * time.Minute,
		ControlPlaneStopTimeout:  5 * time.Second, // the process is killed then
	}}
	config, err := c.env.Start()
	c.must(err)
	t.Cleanup(func() {
		if err := c.env.Stop(); err != nil {
			t.Log(err) // the error says that a process had to be killed
		}
	})
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, discoveryv1.AddToScheme, rbacv1.AddToScheme, apiextensionsv1.AddToScheme, mcsv1beta1.Install,
	} {
		c.must(add(scheme))
	}
	c.client, err = client.New(config, client.Options{Scheme: scheme})
	c.must(err)
	return c
}

// installRBAC applies the manifest and creates a kubeconfig for its service account.
func (c *cluster) installRBAC() {
	c.create(objects.Namespace("atoll-system"))
	manifest, err := os.ReadFile("../../deploy/dns/rbac.yaml")
	c.must(err)
	for _, text := range strings.Split(string(manifest), "\n---\n") {
		var kind metav1.TypeMeta
		c.must(yaml.Unmarshal([]byte(text), &kind))
		object, err := c.client.Scheme().New(kind.GroupVersionKind())
		c.must(err)
		c.must(yaml.UnmarshalStrict([]byte(text), object))
		c.create(object.(client.Object))
	}
	c.file = c.kubeconfig(envtest.User{Name: "system:serviceaccount:atoll-system:atoll-dns"})
}

// kubeconfig writes a user's kubeconfig and returns the file name.
func (c *cluster) kubeconfig(of envtest.User) string {
	c.Helper()
	user, err := c.env.AddUser(of, nil)
	c.must(err)
	kubeconfig, err := user.KubeConfig()
	c.must(err)
	file := filepath.Join(c.TempDir(), "kubeconfig")
	c.must(os.WriteFile(file, kubeconfig, 0o600))
	return file
}

func (c *cluster) installCRDs() {
	for _, manifest := range [][]byte{crd.ServiceExportCRD, crd.ServiceImportCRD} {
		kind := &apiextensionsv1.CustomResourceDefinition{}
		c.must(yaml.Unmarshal(manifest, kind))
		c.create(kind)
	}
}

func (c *cluster) startDNS() {
	free, err := net.Listen("tcp", "127.0.0.1:0")
	c.must(err)
	c.ready = free.Addr().String()
	free.Close()
	server, err := Start(c.corefile("ttl 5"))
	c.must(err)
	c.server = server
	c.Cleanup(func() { c.must(Stop(c.server)) })
}

func (c *cluster) corefile(property string) string {
	return fmt.Sprintf("clusterset.local:0 {\nready %s {\nmonitor continuously\n}\nclusterset {\nkubeconfig %s\n%s\n}\n}\n", c.ready, c.file, property)
}

func (c *cluster) must(err error) {
	c.Helper()
	if err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) create(o client.Object) {
	c.Helper()
	c.must(c.client.Create(c.Context(), o))
}

func (c *cluster) query(network, qname string, qtype uint16) *dns.Msg {
	c.Helper()
	listening := c.server.Servers()[0]
	address := listening.LocalAddr().String()
	if network == "tcp" {
		address = listening.Addr().String()
	}
	return ask(c.T, network, address, qname, qtype)
}

// want fails the test unless the response has exactly this code and data, over UDP and TCP.
func (c *cluster) want(qname string, qtype uint16, rcode int, data ...string) {
	c.Helper()
	for _, network := range []string{"udp", "tcp"} {
		if m := c.query(network, qname, qtype); !is(m, rcode, data) {
			c.Errorf("%s %s over %s: got %v, want %s %q", qname, dns.TypeToString[qtype], network, m, dns.RcodeToString[rcode], data)
		}
	}
}

// eventually waits until the response has this code and data.
func (c *cluster) eventually(qname string, qtype uint16, rcode int, data ...string) {
	c.Helper()
	c.retry(fmt.Sprintf("asking for %s until it is %s %q", qname, dns.RcodeToString[rcode], data), func() error {
		if m := c.query("udp", qname, qtype); !is(m, rcode, data) {
			return fmt.Errorf("got %v", m)
		}
		return nil
	})
}

// retry calls f until it succeeds, for at most half a minute.
func (c *cluster) retry(what string, f func() error) {
	c.Helper()
	ctx, cancel := context.WithTimeout(c.Context(), 30*time.Second)
	defer cancel()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		err := f()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			c.Fatalf("%s: %v", what, err)
		case <-tick.C:
		}
	}
}

func (c *cluster) wantReady(status int) {
	c.Helper()
	response, err := http.Get("http://" + c.ready + "/ready")
	c.must(err)
	response.Body.Close()
	if response.StatusCode != status {
		c.Errorf("ready: got %d, want %d", response.StatusCode, status)
	}
}

// is reports whether a reply has the code, exactly the records with the data,
// and an SOA record if it has no answer.
func is(m *dns.Msg, rcode int, data []string) bool {
	if m.Rcode != rcode || len(m.Answer) != len(data) {
		return false
	}
	got := map[string]bool{}
	for _, rr := range m.Answer {
		got[strings.TrimPrefix(rr.String(), rr.Header().String())] = true
	}
	for _, d := range data {
		if !got[d] {
			return false
		}
	}
	negative := rcode != dns.RcodeServerFailure && len(data) == 0
	return !negative || len(m.Ns) == 1 && m.Ns[0].Header().Rrtype == dns.TypeSOA
}
