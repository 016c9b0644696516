// Package console tests `atoll console` with in-memory API servers; the scenario `console` tests the pages.
package console

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/console"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

const clusterset = "set"

// patience is how long a test waits for a change: BenchmarkConsole with many clusters needs it.
const patience = 2 * time.Minute

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	m.Run()
}

// world is a broker and member clusters whose objects tests write.
type world struct {
	t       testing.TB
	broker  *cluster
	members []*cluster
}

type cluster struct {
	id     string
	api    *apiserver.Server
	client client.Client
	// gone means that the API server does not answer, hangs that it does not even end connections.
	gone, hangs atomic.Bool
	// refused is the end of paths that it forbids, and unknown of those at which it does not know the token: said is how often.
	refused, unknown atomic.Pointer[string]
	// bare clusters do not define what members need.
	bare atomic.Bool
	said atomic.Int32
}

// RoundTrip lets requests pass unless the API server is gone.
func (c *cluster) RoundTrip(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		switch {
		case c.gone.Load():
			return nil, errors.New("no route to " + c.id)
		case c.hangs.Load():
			<-r.Context().Done()
			return nil, r.Context().Err()
		case c.unknown.Load() != nil && strings.HasSuffix(r.URL.Path, *c.unknown.Load()):
			c.said.Add(1)
			return refuse(apierrors.NewUnauthorized("Unauthorized")), nil
		case c.bare.Load() && (strings.HasSuffix(r.URL.Path, "/serviceexports") || strings.HasSuffix(r.URL.Path, "/clusterproperties")):
			return refuse(apierrors.NewNotFound(discoveryv1.Resource("any"), "")), nil
		case c.refused.Load() != nil && strings.HasSuffix(r.URL.Path, *c.refused.Load()):
			return refuse(apierrors.NewForbidden(discoveryv1.Resource("endpointslices"), "", errors.New("not yours"))), nil
		}
		return next.RoundTrip(r)
	})
}

// refuse is an API server's answer to a request that it refuses.
func refuse(err *apierrors.StatusError) *http.Response {
	status := err.Status()
	status.Kind, status.APIVersion = "Status", "v1"
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	_ = json.NewEncoder(w).Encode(status)
	return w.Result()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func newCluster(t testing.TB, id string, network byte) *cluster {
	c := &cluster{id: id, api: apiserver.New(network)}
	made, err := client.New(c.api.Config(), client.Options{Scheme: simulation.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	c.client = made
	for _, name := range []string{clusterset, "shop"} {
		if err := made.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// newWorld returns a clusterset of some clusters, c1 to cN, which all send heartbeats.
func newWorld(t testing.TB, n int) *world {
	w := &world{t: t, broker: newCluster(t, "broker", 0)}
	for i := range n {
		c := newCluster(t, fmt.Sprintf("c%d", i+1), byte(i+1))
		w.members = append(w.members, c)
		w.property(c, aboutv1beta1.ClusterIDProperty, c.id)
		w.property(c, aboutv1beta1.ClustersetProperty, clusterset)
		w.register(c.id)
	}
	return w
}

func (w *world) property(c *cluster, name, value string) {
	w.create(c, &aboutv1beta1.ClusterProperty{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: aboutv1beta1.ClusterPropertySpec{Value: value}})
}

// register makes a cluster a member on the broker.
func (w *world) register(id string) {
	w.create(w.broker, &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: clusterset, Name: id}, Spec: brokerv1alpha1.MemberClusterSpec{KubernetesVersion: "v1.37.2"}})
	w.create(w.broker, heartbeat(id))
}

func heartbeat(id string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterset, Name: id, Labels: map[string]string{"multicluster.kubernetes.io/source-cluster": id}},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &id, LeaseDurationSeconds: ptr.To[int32](40), RenewTime: ptr.To(metav1.NowMicro())},
	}
}

// renew renews a cluster's heartbeat.
func (w *world) renew(id string) {
	w.t.Helper()
	if err := w.broker.client.Update(w.t.Context(), heartbeat(id)); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) create(on *cluster, o client.Object) {
	w.t.Helper()
	var status mcsv1beta1.ServiceImportStatus
	if i, ok := o.(*mcsv1beta1.ServiceImport); ok {
		status = i.Status // creating it drops the status
	}
	if err := on.client.Create(w.t.Context(), o); err != nil {
		w.t.Fatalf("creating %T %s in %s: %v", o, o.GetName(), on.id, err)
	}
	if i, ok := o.(*mcsv1beta1.ServiceImport); ok {
		i.Status = status
		if err := on.client.Status().Update(w.t.Context(), i); err != nil {
			w.t.Fatalf("updating %s in %s: %v", o.GetName(), on.id, err)
		}
	}
}

func (w *world) delete(on *cluster, o client.Object) {
	w.t.Helper()
	if err := on.client.Delete(w.t.Context(), o); err != nil {
		w.t.Fatalf("deleting %T %s in %s: %v", o, o.GetName(), on.id, err)
	}
}

// record is a cluster's export of a service, as it is on the broker.
func record(id, namespace, name, sessionAffinity string) *brokerv1alpha1.ExportedService {
	e := &brokerv1alpha1.ExportedService{ObjectMeta: metav1.ObjectMeta{Namespace: clusterset, Name: name + "." + namespace + "." + id}}
	e.Spec.ClusterID, e.Spec.ServiceNamespace, e.Spec.ServiceName, e.Spec.Type = id, namespace, name, mcsv1beta1.ClusterSetIP
	e.Spec.Ports = []mcsv1beta1.ServicePort{{Name: "http", Protocol: "TCP", Port: 80}}
	e.Spec.ExportedAt = metav1.Now()
	e.Spec.SessionAffinity = "None"
	if sessionAffinity != "" {
		e.Spec.SessionAffinity = "ClientIP"
	}
	return e
}

// serviceImport is an import that works, or that has a problem.
func serviceImport(namespace, name, problem string) *mcsv1beta1.ServiceImport {
	i := &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{"atoll.dev/managed-by": "agent.atoll.dev"}, Generation: 1}}
	i.Spec.Type, i.Spec.IPs, i.Spec.Ports = mcsv1beta1.ClusterSetIP, []string{"10.1.2.3"}, []mcsv1beta1.ServicePort{{Name: "http", Protocol: "TCP", Port: 80}}
	ready := metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue, Reason: "Ready", ObservedGeneration: 1, LastTransitionTime: metav1.Now()}
	if problem != "" {
		ready.Status, ready.Reason, ready.Message = metav1.ConditionFalse, "NoClustersetIP", problem
	}
	i.Status.Conditions = []metav1.Condition{ready}
	return i
}

// slice is an imported slice with some ready endpoints, and some on standby.
func slice(namespace, service, from string, ready, standby int) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service + "." + from, Labels: map[string]string{
			"endpointslice.kubernetes.io/managed-by": "agent.atoll.dev", "multicluster.kubernetes.io/service-name": service, "multicluster.kubernetes.io/source-cluster": from,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080)}},
	}
	if standby > 0 {
		s.Annotations = map[string]string{"atoll.dev/standby": fmt.Sprintf("Drained=%d", standby)}
	}
	for i := range ready + standby {
		e := discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.1.0.%d", i+1)}, NodeName: ptr.To("node-1"), Zone: ptr.To("zone-a")}
		e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(i < ready), Serving: ptr.To(true), Terminating: ptr.To(i >= ready)}
		s.Endpoints = append(s.Endpoints, e)
	}
	return s
}

// targets returns clusters as the command line names them, and how to reach the broker. A cluster without an id is the current context.
func (w *world) targets(clusters ...*cluster) (all []checkup.Target, broker *rest.Config) {
	for _, c := range clusters {
		context := ""
		if c.id != "" {
			context = "context-" + c.id
		}
		config := c.api.Config()
		config.Wrap(c.RoundTrip)
		all = append(all, checkup.Target{Context: context, On: command.At("", context), Config: config})
	}
	broker = w.broker.api.Config()
	broker.Wrap(w.broker.RoundTrip)
	return all, broker
}

// open opens a console on some clusters, and returns a page that follows it.
func (w *world) open(clusters ...*cluster) (*console.Console, *page) {
	targets, direct := w.targets(clusters...)
	made, err := console.New(targets, nil, direct)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx := w.t.Context()
	go made.Run(ctx)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		w.t.Fatal(err)
	}
	s := console.NewServer(made, listener.Addr())
	server := console.NewHTTPServer(s.Handler())
	go func() { _ = server.Serve(listener) }()
	w.t.Cleanup(func() { _ = server.Close() })
	return made, newPage(w.t, s.URL())
}

// page is what a browser has received.
type page struct {
	t        testing.TB
	client   *http.Client
	base     string
	lines    *bufio.Scanner
	overview console.Overview
	services map[string]console.Row
	// events counts what the server has sent.
	events int
}

func newPage(t testing.TB, url string) *page {
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	base, _, _ := strings.Cut(url, "/login")
	p := &page{t: t, client: &http.Client{Jar: jar}, base: base}
	p.get(url).Body.Close()
	return p.again()
}

// again returns another page of the same browser.
func (p *page) again() *page {
	other := &page{t: p.t, client: p.client, base: p.base, services: map[string]console.Row{}}
	answer := p.get(p.base + "/api/live")
	p.t.Cleanup(func() { _ = answer.Body.Close() })
	other.lines = bufio.NewScanner(answer.Body)
	other.lines.Buffer(nil, 1<<28)
	return other
}

func (p *page) get(url string) *http.Response {
	p.t.Helper()
	r, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, url, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	answer, err := p.client.Do(r)
	if err != nil || answer.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %v %v", url, answer, err)
	}
	return answer
}

// until receives events until something is so.
func (p *page) until(what string, is func() bool) {
	p.t.Helper()
	late := time.AfterFunc(patience, func() { p.t.Errorf("not so after %v: %s", patience, what); p.client.CloseIdleConnections() })
	defer late.Stop()
	for !is() {
		if p.t.Failed() || !p.lines.Scan() {
			p.t.Fatalf("the stream has ended before: %s (%v)\n%.2000s\n%.2000s", what, p.lines.Err(), fmt.Sprintf("%+v", p.overview), fmt.Sprintf("%+v", p.services))
		}
		data, found := strings.CutPrefix(p.lines.Text(), "data: ")
		if !found {
			continue
		}
		p.events++
		var change struct {
			Overview *console.Overview
			Services map[string]*console.Row
			All      bool
		}
		if err := json.Unmarshal([]byte(data), &change); err != nil {
			p.t.Fatal(err)
		}
		if change.Overview != nil {
			p.overview = *change.Overview
		}
		if change.All {
			clear(p.services)
		}
		for id, row := range change.Services {
			if row == nil {
				delete(p.services, id)
			} else {
				p.services[id] = *row
			}
		}
	}
}

// cluster returns what a page shows of a cluster.
func (p *page) cluster(id string) console.Cluster {
	for _, c := range p.overview.Clusters {
		if c.ID == id {
			return c
		}
	}
	return console.Cluster{}
}
