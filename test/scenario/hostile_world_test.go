package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/test/planes"
)

const (
	// quietNamespace has the bystander, which c2 exports, and a Service of each cluster's own. c1 exports nothing from it.
	quietNamespace = "hostile-quiet"
	// sharedNamespace has a Service that c1 and c2 export, and what c1 makes up.
	sharedNamespace = "hostile-shared"
	// place is the clusterset's namespace on the broker.
	place = "atoll-clusterset"
)

// world is a lab with a hostile member, c1, and those whom it must not disturb.
type world struct {
	lab *lab.Lab
	// admin are administrators' clients for c1, c2, c3 and the broker.
	admin map[string]client.WithWatch
	// member is a client for the broker with the credentials of c1.
	member client.Client
	// clients are the network namespaces of pods that send requests, by cluster.
	clients map[string]network.Namespace
	flows   []*flow
	// step numbers what attempts make, so that no two make the same.
	step int32
	// honest is c1's record of the service that c2 exports too.
	honest *brokerv1alpha1.ExportedService
	// before are the ServiceImports that must stay as they are.
	before map[string]mcsv1beta1.ServiceImportSpec
	// owned are Services of the clusters' users that must stay as they are.
	owned map[string]corev1.ServiceSpec
}

// members are the clusters that must not be disturbed.
var members = []string{"c1", "c2", "c3"}

// importers are the members that import from c1.
var importers = []string{"c2", "c3"}

const workloads = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec:
      containers:
      - name: web
        image: atoll.dev/lab/echo
        readinessProbe: {httpGet: {path: /healthz, port: 8080}, periodSeconds: 1}
---
apiVersion: v1
kind: Service
metadata: {name: local}
spec: {ipFamilyPolicy: PreferDualStack, selector: {app: web}, ports: [{name: http, port: 80, targetPort: 8080}]}
`

func newWorld(t *testing.T, l *lab.Lab) *world {
	t.Helper()
	w := &world{lab: l, clients: map[string]network.Namespace{}, before: map[string]mcsv1beta1.ServiceImportSpec{}, owned: map[string]corev1.ServiceSpec{}}
	var err error
	if w.admin, err = planes.Clients(l, append([]string{lab.Broker}, members...)...); err != nil {
		t.Fatal(err)
	}
	w.member = w.asMember(t)
	w.limitNamespaces(t)
	for _, cluster := range members {
		for _, namespace := range []string{quietNamespace, sharedNamespace} {
			w.create(t, cluster, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
			w.apply(t, cluster, namespace, workloads)
		}
	}
	w.create(t, "c2", webService(quietNamespace, "bystander"))
	w.create(t, "c1", webService(sharedNamespace, "shared"))
	w.create(t, "c2", webService(sharedNamespace, "shared"))
	for _, name := range []string{"taken", "taken-clusterset"} {
		w.create(t, "c3", webService(sharedNamespace, name))
		w.owned[name] = w.service(t, "c3", sharedNamespace, name).Spec
	}
	w.create(t, "c2", exportOf(quietNamespace, "bystander"))
	w.create(t, "c2", exportOf(sharedNamespace, "shared"))
	w.waitImport(t, quietNamespace, "bystander", "c2")
	w.waitImport(t, sharedNamespace, "shared", "c2")
	second := time.NewTimer(time.Second) // creation times have seconds: c2's export is the older one
	<-second.C
	w.create(t, "c1", exportOf(sharedNamespace, "shared"))
	w.waitImport(t, sharedNamespace, "shared", "c1", "c2")
	w.honest = w.record(sharedNamespace, "shared", 80)
	if err := w.admin[lab.Broker].Get(t.Context(), client.ObjectKeyFromObject(w.honest), w.honest); err != nil {
		t.Fatal(err)
	}
	w.honest.ManagedFields, w.honest.ResourceVersion, w.honest.UID = nil, "", ""
	for _, cluster := range members {
		w.before[cluster+" bystander"] = w.serviceImport(t, cluster, quietNamespace, "bystander").Spec
		w.before[cluster+" shared"] = w.serviceImport(t, cluster, sharedNamespace, "shared").Spec
		w.clients[cluster] = w.podNetwork(t, cluster)
	}
	w.startTraffic(t)
	return w
}

// limitNamespaces has the broker's owner let c1 export from other namespaces than the bystander's.
func (w *world) limitNamespaces(t *testing.T) {
	t.Helper()
	namespaces := strings.Join([]string{sharedNamespace, metav1.NamespaceDefault, metav1.NamespaceSystem, names.SystemNamespace, "no-such-namespace"}, ",")
	if result := Use(w.lab).Atoll(t.Context(), Broker, "broker", "members", "set", "c1", "--namespaces", namespaces); result.Err != nil {
		t.Fatalf("%v: %s", result.Err, result.Stderr)
	}
}

// asMember returns a client for the broker with the credentials that c1 has in its Secret.
func (w *world) asMember(t *testing.T) client.Client {
	t.Helper()
	secret := &corev1.Secret{}
	if err := w.admin["c1"].Get(t.Context(), client.ObjectKey{Namespace: names.SystemNamespace, Name: "atoll-broker"}, secret); err != nil {
		t.Fatal(err)
	}
	membership, err := credential.FromSecret(secret)
	if err != nil {
		t.Fatal(err)
	}
	admin, err := w.lab.RESTConfig(lab.Broker)
	if err != nil {
		t.Fatal(err)
	}
	c, err := client.New(&rest.Config{
		Host: admin.Host, BearerToken: membership.Token, QPS: -1, // as fast as the broker lets it
		TLSClientConfig: rest.TLSClientConfig{CAData: admin.CAData, CAFile: admin.CAFile, ServerName: admin.ServerName},
	}, client.Options{Scheme: planes.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func webService(namespace, name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack),
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}}
}

func exportOf(namespace, name string) *mcsv1beta1.ServiceExport {
	return &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// create makes an object as the cluster's administrator.
func (w *world) create(t *testing.T, cluster string, object client.Object) {
	t.Helper()
	if err := w.admin[cluster].Create(t.Context(), object); err != nil {
		t.Fatalf("%s: creating %s: %v", cluster, object.GetName(), err)
	}
}

func (w *world) apply(t *testing.T, cluster, namespace, manifest string) {
	t.Helper()
	result := Use(w.lab).Kubectl(t.Context(), cluster, Command{Args: []string{"apply", "-n", namespace, "-f", "-"}, Stdin: manifest})
	if result.Err != nil {
		t.Fatalf("%s: %v: %s", cluster, result.Err, result.Stderr)
	}
}

func (w *world) service(t *testing.T, cluster, namespace, name string) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	if err := w.admin[cluster].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		t.Fatalf("%s: %v", cluster, err)
	}
	return s
}

func (w *world) serviceImport(t *testing.T, cluster, namespace, name string) *mcsv1beta1.ServiceImport {
	t.Helper()
	s := &mcsv1beta1.ServiceImport{}
	if err := w.admin[cluster].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, s); err != nil {
		t.Fatalf("%s: %v", cluster, err)
	}
	return s
}

// waitImport waits until all clusters have the endpoints that these clusters export, and a clusterset IP.
func (w *world) waitImport(t *testing.T, namespace, name string, from ...string) {
	t.Helper()
	for _, cluster := range members {
		planes.Eventually(t, fmt.Sprintf("%s imports %s/%s", cluster, namespace, name), func() error {
			imported := &mcsv1beta1.ServiceImport{}
			if err := w.admin[cluster].Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, imported); err != nil {
				return err
			}
			if len(imported.Spec.IPs) == 0 {
				return fmt.Errorf("it has no address")
			}
			for _, source := range from {
				if len(w.addressesFrom(t, cluster, namespace, name, source)) == 0 {
					return fmt.Errorf("it has no endpoints of %s", source)
				}
			}
			return nil
		})
	}
}

// slicesFrom are the EndpointSlices that a cluster has imported from another one, of one service, or of all for "".
func (w *world) slicesFrom(t *testing.T, cluster, namespace, service, source string) []discoveryv1.EndpointSlice {
	t.Helper()
	list, labels := &discoveryv1.EndpointSliceList{}, client.MatchingLabels{names.LabelSourceCluster: source}
	if service != "" {
		labels[names.LabelServiceName] = service
	}
	if err := w.admin[cluster].List(t.Context(), list, client.InNamespace(namespace), labels); err != nil {
		t.Fatalf("%s: %v", cluster, err)
	}
	return list.Items
}

func (w *world) addressesFrom(t *testing.T, cluster, namespace, service, source string) (addresses []string) {
	t.Helper()
	for _, s := range w.slicesFrom(t, cluster, namespace, service, source) {
		for _, e := range s.Endpoints {
			addresses = append(addresses, e.Addresses...)
		}
	}
	return addresses
}

// podNetwork is the network namespace of the pod that sends a cluster's requests.
func (w *world) podNetwork(t *testing.T, cluster string) (found network.Namespace) {
	t.Helper()
	planes.Eventually(t, cluster+" has a pod that can send requests", func() error {
		pods := &corev1.PodList{}
		if err := w.admin[cluster].List(t.Context(), pods, client.InNamespace(quietNamespace), client.MatchingLabels{"app": "web"}); err != nil {
			return err
		}
		for _, p := range pods.Items {
			n := network.Namespace(fmt.Sprintf("atoll-%s-%s-pod-%s", w.lab.Name(), cluster, string(p.UID)[:8]))
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) && n.Exists() {
				found = n
				return nil
			}
		}
		return fmt.Errorf("none of its %d pods is ready", len(pods.Items))
	})
	return found
}

// A flow is requests that a pod sends to one name all the time, each over a new connection and with a new DNS query.
type flow struct {
	cluster, target string
	from            []string // the clusters that may answer
	mu              sync.Mutex
	sent            int
	failures        []failure
}

type failure struct {
	at   time.Time
	text string
}

func (w *world) startTraffic(t *testing.T) {
	t.Helper()
	for _, cluster := range members {
		w.flows = append(w.flows,
			&flow{cluster: cluster, target: "bystander." + quietNamespace + ".svc.clusterset.local.", from: []string{"c2"}},
			&flow{cluster: cluster, target: "local." + quietNamespace + ".svc.cluster.local.", from: []string{cluster}},
			&flow{cluster: cluster, target: "shared." + sharedNamespace + ".svc.clusterset.local.", from: []string{"c1", "c2"}},
		)
	}
	for _, f := range w.flows { // a cache of DNS may hold that there is no such name yet
		planes.Eventually(t, f.cluster+" reaches "+f.target, func() error { return w.ask(t.Context(), f) })
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for _, f := range w.flows {
		done.Go(func() {
			again := time.NewTicker(100 * time.Millisecond)
			defer again.Stop()
			for ctx.Err() == nil {
				began := time.Now()
				err := w.ask(ctx, f)
				f.mu.Lock()
				if f.sent++; err != nil && ctx.Err() == nil {
					f.failures = append(f.failures, failure{began, err.Error()})
				}
				f.mu.Unlock()
				select {
				case <-again.C:
				case <-ctx.Done():
				}
			}
		})
	}
	t.Cleanup(func() {
		stop()
		done.Wait()
		for _, f := range w.flows {
			t.Logf("%s to %s: %d requests, %d failed", f.cluster, f.target, f.sent, len(f.failures))
		}
	})
}

// lostSince returns a request that has failed, and how many have.
func (f *flow) lostSince(since time.Time) (count int, first string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, lost := range f.failures {
		if lost.at.Before(since) {
			continue
		}
		if count++; count == 1 {
			first = lost.text
		}
	}
	return count, first
}

// ask sends one request of a flow.
func (w *world) ask(ctx context.Context, f *flow) error {
	answer, err := w.request(ctx, f.cluster, f.target, 3*time.Second)
	if err == nil && !slices.Contains(f.from, answer.Cluster) {
		return fmt.Errorf("cluster %q has answered", answer.Cluster)
	}
	return err
}

// request asks a host, by an address or by a name that the cluster's DNS answers, on port 80 from a pod of the cluster.
func (w *world) request(ctx context.Context, cluster, host string, limit time.Duration) (Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	from := w.clients[cluster]
	c, err := w.lab.Spec.Cluster(cluster)
	if err != nil {
		return Answer{}, err
	}
	within := func(ctx context.Context, kind, address string) (conn net.Conn, err error) {
		err = from.Do(func() error {
			var d net.Dialer
			conn, err = d.DialContext(ctx, kind, address)
			return err
		})
		return conn, err
	}
	address := host
	if _, err := netip.ParseAddr(host); err != nil {
		resolver := net.Resolver{PreferGo: true, Dial: func(ctx context.Context, kind, _ string) (net.Conn, error) {
			return within(ctx, kind, net.JoinHostPort(c.DNS[0].String(), "53"))
		}}
		found, err := resolver.LookupHost(ctx, host)
		if err != nil {
			return Answer{}, err
		}
		address = found[0]
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return within(ctx, "tcp", net.JoinHostPort(address, "80"))
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+strings.TrimSuffix(c.Name, "."), nil)
	if err != nil {
		return Answer{}, err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return Answer{}, fmt.Errorf("%s: %w", address, err)
	}
	answers := parseAnswers(string(body))
	if len(answers) != 1 {
		return Answer{}, fmt.Errorf("%s has answered %q", address, body)
	}
	return answers[0], nil
}

// freshServices makes a Service in each cluster that has nothing to do with Atoll, and waits until its pod answers at its new
// address. Where a part of kube-proxy's rules can't be programmed, none is.
func (w *world) freshServices(t *testing.T) {
	t.Helper()
	var made []*corev1.Service
	for _, cluster := range members {
		fresh := webService(quietNamespace, "")
		fresh.GenerateName = "fresh-"
		w.create(t, cluster, fresh)
		made = append(made, fresh)
	}
	for i, cluster := range members {
		planes.Eventually(t, cluster+": a Service that was made just now answers", func() error {
			_, err := w.request(t.Context(), cluster, made[i].Spec.ClusterIP, time.Second)
			return err
		})
		if err := w.admin[cluster].Delete(t.Context(), made[i]); err != nil {
			t.Error(err)
		}
	}
}

// undisturbed fails the test where, since then, anything was disturbed that is not c1's own. Of a service that c1 exports
// too, requests that go astray are those that c1 has sent where it likes, which it can.
func (w *world) undisturbed(t *testing.T, since time.Time, astray bool) {
	t.Helper()
	followed := w.changeOthers(t)
	w.freshServices(t)
	followed()
	for _, cluster := range importers {
		w.checkImports(t, cluster)
	}
	for name, spec := range w.owned {
		if now := w.service(t, "c3", sharedNamespace, name).Spec; !sameJSON(now, spec) {
			t.Errorf("c3: Service %s has changed: %+v", name, now)
		}
	}
	for _, f := range w.flows {
		if astray && len(f.from) > 1 {
			continue
		}
		if count, first := f.lostSince(since); count > 0 {
			t.Errorf("%d requests of %s to %s were lost, the first: %s", count, f.cluster, f.target, first)
		}
	}
}

// changeOthers changes a port of the Service that c2 exports and c1 too. The function that it returns waits until the derived
// Services have followed.
func (w *world) changeOthers(t *testing.T) (followed func()) {
	t.Helper()
	number := w.good()
	s := w.service(t, "c2", sharedNamespace, "shared")
	s.Spec.Ports = append(s.Spec.Ports[:1], corev1.ServicePort{Name: "tick", Port: number, TargetPort: intstr.FromInt32(8080)})
	if err := w.admin["c2"].Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	return func() {
		for _, cluster := range importers {
			planes.Eventually(t, cluster+": the derived Service follows a change of c2's Service that c1 exports too", func() error {
				derived := w.service(t, cluster, sharedNamespace, "shared-clusterset")
				if !slices.ContainsFunc(derived.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == number }) {
					return fmt.Errorf("its ports are %+v", derived.Spec.Ports)
				}
				return nil
			})
		}
	}
}

// checkImports looks at all that a cluster has imported. These rules are written here a second time, other than elsewhere, so
// that the test does not go by what it tests.
func (w *world) checkImports(t *testing.T, cluster string) {
	t.Helper()
	for key, spec := range w.before {
		of, name, _ := strings.Cut(key, " ")
		if of != cluster {
			continue
		}
		namespace := map[string]string{"bystander": quietNamespace, "shared": sharedNamespace}[name]
		now := w.serviceImport(t, cluster, namespace, name).Spec
		if !slices.Equal(now.IPs, spec.IPs) || now.Type != spec.Type || now.SessionAffinity != spec.SessionAffinity || !sameJSON(now.TrafficDistribution, spec.TrafficDistribution) ||
			!slices.ContainsFunc(now.Ports, func(p mcsv1beta1.ServicePort) bool { return sameJSON(p, spec.Ports[0]) }) || name == "bystander" && !sameJSON(now.Ports, spec.Ports) {
			t.Errorf("%s: the import of %s was %+v and is %+v", cluster, name, spec, now)
		}
	}
	if addresses := w.addressesFrom(t, cluster, quietNamespace, "", "c1"); len(addresses) > 0 {
		t.Errorf("%s: c1 stands behind services of namespace %s, which it may not export: %v", cluster, quietNamespace, addresses)
	}
	if addresses := w.addressesFrom(t, cluster, quietNamespace, "bystander", "c2"); cluster != "c2" && len(addresses) == 0 {
		t.Errorf("%s: the bystander has no endpoints", cluster)
	}
	for _, s := range w.slicesFrom(t, cluster, metav1.NamespaceAll, "", "c1") {
		for _, problem := range w.problems(cluster, &s) {
			t.Errorf("%s: the imported slice %s/%s has %s", cluster, s.Namespace, s.Name, problem)
		}
	}
}

// problems are what no cluster may import.
func (w *world) problems(cluster string, s *discoveryv1.EndpointSlice) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if slices.Contains(names.SystemNamespaces, s.Namespace) {
		say("an endpoint in a namespace of the system")
	}
	if len(s.Endpoints)*len(s.Ports) > 50_000 || len(s.Ports) > 100 || len(s.Endpoints) > 1000 {
		say("%d endpoints and %d ports", len(s.Endpoints), len(s.Ports))
	}
	ports := map[string]bool{}
	for _, p := range s.Ports {
		if name := ptr.Deref(p.Name, ""); ports[name] || len(name) > 63 {
			say("the port name %q", name)
		} else {
			ports[name] = true
		}
		if p.Port != nil && (*p.Port < 1 || *p.Port > 65535) {
			say("port %d", *p.Port)
		}
	}
	own, err := w.lab.Spec.Cluster(cluster)
	if err != nil {
		say("%v", err)
		return found
	}
	for _, e := range s.Endpoints {
		if e.NodeName != nil || e.TargetRef != nil || len(e.Addresses) != 1 {
			say("an endpoint %+v", e)
			continue
		}
		address, err := netip.ParseAddr(e.Addresses[0])
		if err != nil || address.String() != e.Addresses[0] || address.IsLoopback() || address.IsLinkLocalUnicast() || address.IsMulticast() || address.IsUnspecified() ||
			slices.Contains([]string{"100.100.100.200", "168.63.129.16", "fd00:ec2::254"}, e.Addresses[0]) || netip.MustParsePrefix("64:ff9b::/96").Contains(address) {
			say("the address %s", e.Addresses[0])
		}
		for _, prefix := range slices.Concat(own.PodCIDRs, own.ServiceCIDRs) {
			if prefix.Contains(address) {
				say("the cluster's own address %s", address)
			}
		}
		if address == own.APIServer.Addr() || slices.ContainsFunc(own.Nodes, func(n lab.Node) bool { return slices.Contains(n.Addresses, address) }) {
			say("the node's address %s", address)
		}
	}
	return found
}

func sameJSON(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// entry is the metadata of something of c1's on the broker.
func (w *world) entry(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: place, Name: name, Labels: map[string]string{names.LabelSourceCluster: "c1"}}
}

// newest is a revision above all others: what is older than before is not taken over.
func newest() string { return strconv.FormatInt(time.Now().UnixMicro(), 10) }

// record is a record on the broker of a service that c1 says it exports.
func (w *world) record(namespace, service string, number int32) *brokerv1alpha1.ExportedService {
	r := &brokerv1alpha1.ExportedService{ObjectMeta: w.entry(names.Export("c1", namespace, service)), Spec: brokerv1alpha1.ExportedServiceSpec{
		ClusterID: "c1", ServiceNamespace: namespace, ServiceName: service, ExportedAt: metav1.Now(), Type: mcsv1beta1.ClusterSetIP,
		Ports:      []mcsv1beta1.ServicePort{{Name: "good", Protocol: corev1.ProtocolTCP, Port: number}},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, SessionAffinity: corev1.ServiceAffinityNone,
	}}
	r.Labels[names.LabelServiceNamespace], r.Labels[names.LabelServiceName] = namespace, service
	r.Annotations = map[string]string{names.AnnotationRevision: newest()}
	return r
}

// slice is a slice on the broker with endpoints of such a service.
func (w *world) slice(family discoveryv1.AddressType, namespace, service string, number int32, addresses ...string) *discoveryv1.EndpointSlice {
	source := service + "-" + strings.ToLower(string(family))
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: w.entry(names.BrokerSlice("c1", namespace, source)), AddressType: family,
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("good"), Port: ptr.To(number), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	s.Labels[names.LabelServiceNamespace], s.Labels[names.LabelServiceName] = namespace, service
	s.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	s.Annotations = map[string]string{names.AnnotationSourceSlice: source, names.AnnotationRevision: newest()}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

// put writes an object on the broker with c1's credentials, whether it is there or not.
func (w *world) put(ctx context.Context, object client.Object) error {
	for {
		object.SetResourceVersion("")
		object.SetUID("")
		err := w.member.Create(ctx, object)
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		have := object.DeepCopyObject().(client.Object)
		if err = w.member.Get(ctx, client.ObjectKeyFromObject(object), have); err == nil {
			object.SetResourceVersion(have.GetResourceVersion())
			object.SetUID(have.GetUID())
			err = w.member.Update(ctx, object)
		}
		// On a broker without admission, the agent of the cluster that an object claims to be of may delete it meanwhile.
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
}

// refused tells whether an error is the broker's refusal.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsTooManyRequests(err) || err != nil && strings.Contains(err.Error(), "request is too large")
}

// heartbeats renews c1's heartbeat as its agent would, which does not run while c1 is taken for hostile.
func (w *world) heartbeats(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		again := time.NewTicker(5 * time.Second)
		defer again.Stop()
		for {
			lease := &coordinationv1.Lease{ObjectMeta: w.entry("c1")}
			patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
			if err := planes.Merge(ctx, w.member, lease, patch); err != nil && ctx.Err() == nil {
				t.Errorf("renewing c1's heartbeat: %v", err)
			}
			select {
			case <-again.C:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() { cancel(); done.Wait() }
}
