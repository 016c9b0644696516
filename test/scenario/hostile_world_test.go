package scenario

import (
	"context"
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

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

const (
	// quietNamespace has the service bystander, which c2 exports, and a local Service in each
	// cluster. c1 exports no service from this namespace.
	quietNamespace = "hostile-quiet"
	// sharedNamespace has a Service that c1 and c2 export, and the services that c1 invents.
	sharedNamespace = "hostile-shared"
)

// world is a lab with a hostile member, c1, and members that must not be disturbed.
type world struct {
	lab *lab.Lab
	// admin holds administrators' clients for c1, c2, c3 and the broker.
	admin map[string]client.WithWatch
	// member is a client for the broker with c1's credentials.
	member client.Client
	// clients holds the network namespaces of the pods that send requests, by cluster.
	clients map[string]network.Namespace
	flows   []*flow
	// step numbers the attempts, so that their objects differ.
	step int32
	// honest is c1's valid record of the service that c2 exports too.
	honest *brokerv1alpha1.ExportedService
	// before holds the ServiceImports that must not change, by cluster.
	before map[string][]*mcsv1beta1.ServiceImport
	// owned holds Services of c3's users that must not change.
	owned []*corev1.Service
}

// members must not be disturbed. Even c1's own Services must keep working.
var members = []string{"c1", "c2", "c3"}

// importers import services from c1.
var importers = []string{"c2", "c3"}

func newWorld(t *testing.T, l *lab.Lab) *world {
	t.Helper()
	w := &world{lab: l, clients: map[string]network.Namespace{}, before: map[string][]*mcsv1beta1.ServiceImport{}}
	var err error
	w.admin, err = planes.Clients(l, append([]string{lab.Broker}, members...)...)
	planes.NoError(t, err)
	w.member = w.asMember(t)
	// The broker's owner lets c1 export from all namespaces except quietNamespace.
	namespaces := strings.Join([]string{sharedNamespace, metav1.NamespaceDefault, metav1.NamespaceSystem, names.SystemNamespace, "no-such-namespace"}, ",")
	w.do(t, Broker, "atoll", "broker", "members", "set", "c1", "--namespaces", namespaces)
	for _, cluster := range members {
		for _, namespace := range []string{quietNamespace, sharedNamespace} {
			planes.Create(t, w.admin[cluster], objects.Namespace(namespace), webService(namespace, "local"))
			w.do(t, cluster, "kubectl", "apply", "-n", namespace, "-f", "testdata/manifests/one-pod.yaml")
		}
	}
	planes.Create(t, w.admin["c1"], webService(sharedNamespace, "shared"))
	planes.Create(t, w.admin["c2"], webService(quietNamespace, "bystander"), webService(sharedNamespace, "shared"))
	for _, name := range []string{"taken", "taken-clusterset"} {
		planes.Create(t, w.admin["c3"], webService(sharedNamespace, name))
		w.owned = append(w.owned, w.service(t, "c3", sharedNamespace, name))
	}
	planes.Create(t, w.admin["c2"], objects.Export(quietNamespace, "bystander"), objects.Export(sharedNamespace, "shared"))
	w.waitImport(t, quietNamespace, "bystander", "c2")
	w.waitImport(t, sharedNamespace, "shared", "c2")
	second := time.NewTimer(time.Second) // creation times have a resolution of a second, and c2's export must be older
	<-second.C
	planes.Create(t, w.admin["c1"], objects.Export(sharedNamespace, "shared"))
	w.waitImport(t, sharedNamespace, "shared", "c1", "c2")
	w.honest = record(sharedNamespace, "shared", 80)
	planes.Read(t, w.admin[lab.Broker], w.honest)
	w.honest.ManagedFields, w.honest.ResourceVersion, w.honest.UID = nil, "", ""
	for _, cluster := range members {
		w.before[cluster] = []*mcsv1beta1.ServiceImport{objects.Import(quietNamespace, "bystander"), objects.Import(sharedNamespace, "shared")}
		for _, imported := range w.before[cluster] {
			planes.Read(t, w.admin[cluster], imported)
		}
		w.clients[cluster] = w.podNetwork(t, cluster)
	}
	w.startTraffic(t)
	return w
}

// do runs a program and fails the test if the program fails.
func (w *world) do(t *testing.T, cluster, program string, args ...string) {
	t.Helper()
	if result := Use(w.lab).Do(t.Context(), cluster, Command{Program: program, Args: args}); result.Err != nil {
		t.Fatalf("%s: %v: %s", cluster, result.Err, result.Stderr)
	}
}

// asMember returns a client for the broker with the credentials in c1's Secret.
func (w *world) asMember(t *testing.T) client.Client {
	t.Helper()
	membership, _ := planes.Membership(t, w.admin["c1"])
	admin, err := w.lab.RESTConfig(lab.Broker) // the broker's address in c1's Secret works only inside the lab
	planes.NoError(t, err)
	config := rest.AnonymousClientConfig(admin)
	config.BearerToken = membership.Token
	c, err := broker.Connect(config)
	planes.NoError(t, err)
	return c
}

func webService(namespace, name string) *corev1.Service {
	s := objects.Service(namespace, name)
	s.Spec = corev1.ServiceSpec{
		Selector: map[string]string{"app": "web"}, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack),
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(8080)}},
	}
	return s
}

func (w *world) service(t *testing.T, cluster, namespace, name string) *corev1.Service {
	t.Helper()
	s := objects.Service(namespace, name)
	planes.Read(t, w.admin[cluster], s)
	return s
}

// untilImported waits until clusters have imported a service and check succeeds.
func (w *world) untilImported(t *testing.T, clusters []string, namespace, name string, check func(cluster string, imported *mcsv1beta1.ServiceImport) error) {
	t.Helper()
	for _, cluster := range clusters {
		imported := objects.Import(namespace, name)
		planes.Until(t, fmt.Sprintf("%s imports %s/%s", cluster, namespace, name), w.admin[cluster], imported, func() error {
			return check(cluster, imported)
		})
	}
}

// waitImport waits until all members have a clusterset IP and endpoints from all given
// clusters.
func (w *world) waitImport(t *testing.T, namespace, name string, from ...string) {
	t.Helper()
	w.untilImported(t, members, namespace, name, func(cluster string, imported *mcsv1beta1.ServiceImport) error {
		if len(imported.Spec.IPs) == 0 {
			return fmt.Errorf("the import has no clusterset IP")
		}
		for _, source := range from {
			if len(w.addressesFrom(t, cluster, namespace, name, source)) == 0 {
				return fmt.Errorf("the import has no endpoints of %s", source)
			}
		}
		return nil
	})
}

// slicesFrom returns the EndpointSlices that a cluster has imported from a source cluster, for
// one service, or for all services if service is "".
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

// podNetwork returns the network namespace of the pod that sends a cluster's requests.
func (w *world) podNetwork(t *testing.T, cluster string) (found network.Namespace) {
	t.Helper()
	planes.Eventually(t, cluster+" has a pod that can send requests", func() error {
		pods := &corev1.PodList{}
		if err := w.admin[cluster].List(t.Context(), pods, client.InNamespace(quietNamespace), client.MatchingLabels{"app": "web"}); err != nil {
			return err
		}
		for _, p := range pods.Items {
			if slices.ContainsFunc(p.Status.Conditions, func(c corev1.PodCondition) bool { return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue }) {
				var err error
				found, err = lab.PodNetwork(p.UID)
				return err
			}
		}
		return fmt.Errorf("%d pods, none ready", len(pods.Items))
	})
	return found
}

// A flow is a constant stream of requests from a pod to a name. Each request has a new
// connection and a new DNS query.
type flow struct {
	cluster, target string
	from            []string // the clusters that may answer
	mu              sync.Mutex
	sent            int
	failures        []failure
}

type failure struct {
	at  time.Time
	err error
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
	for _, f := range w.flows { // a DNS cache may still have a negative entry
		planes.Eventually(t, f.cluster+" reaches "+f.target, func() error { return w.ask(t.Context(), f) })
	}
	ctx, stop := context.WithCancel(t.Context())
	var done sync.WaitGroup
	for _, f := range w.flows {
		done.Go(func() {
			wait.NonSlidingUntilWithContext(ctx, func(ctx context.Context) {
				began := time.Now()
				err := w.ask(ctx, f)
				f.mu.Lock()
				defer f.mu.Unlock()
				if f.sent++; err != nil && ctx.Err() == nil {
					f.failures = append(f.failures, failure{began, err})
				}
			}, 100*time.Millisecond)
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

// lostSince returns the requests that failed since a time.
func (f *flow) lostSince(since time.Time) []failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(f.failures), func(lost failure) bool { return lost.at.Before(since) })
}

// ask sends a request of a flow.
func (w *world) ask(ctx context.Context, f *flow) error {
	by, err := w.request(ctx, f.cluster, f.target, 3*time.Second)
	if err == nil && !slices.Contains(f.from, by) {
		return fmt.Errorf("cluster %q has answered", by)
	}
	return err
}

// request sends an HTTP request from a pod of the cluster to port 80 of an address or a DNS
// name, and returns the cluster of the pod that answered.
func (w *world) request(ctx context.Context, cluster, host string, limit time.Duration) (answeredBy string, _ error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	from := w.clients[cluster]
	c, err := w.lab.Spec.Cluster(cluster)
	if err != nil {
		return "", err
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
			return "", err
		}
		address = found[0]
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: within}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(address, "80"), nil)
	if err != nil {
		return "", err
	}
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, 1<<16))
	if err != nil {
		return "", fmt.Errorf("%s: %w", address, err)
	}
	answers := parseAnswers(string(body))
	if len(answers) != 1 {
		return "", fmt.Errorf("%s has answered %q", address, body)
	}
	answeredBy, _, _ = strings.Cut(answers[0], "/")
	return answeredBy, nil
}

// freshServices creates a Service that Atoll does not manage in each cluster, and waits until
// its pod answers at the new address. kube-proxy applies all rules in one transaction, so a
// single invalid rule would block the new Service.
func (w *world) freshServices(t *testing.T) {
	t.Helper()
	var made []*corev1.Service
	for _, cluster := range members {
		fresh := webService(quietNamespace, "")
		fresh.GenerateName = "fresh-"
		planes.Create(t, w.admin[cluster], fresh)
		made = append(made, fresh)
	}
	for i, cluster := range members {
		planes.Eventually(t, cluster+": a Service that was made just now answers", func() error {
			_, err := w.request(t.Context(), cluster, made[i].Spec.ClusterIP, time.Second)
			return err
		})
		planes.Delete(t, w.admin[cluster], made[i])
	}
}

// undisturbed fails the test if any service except c1's own was disturbed since a time. If
// astray is set, c1 may send its own share of a shared service's requests nowhere.
func (w *world) undisturbed(t *testing.T, since time.Time, astray bool) {
	t.Helper()
	followed := w.changeOthers(t)
	w.freshServices(t)
	followed()
	for _, cluster := range importers {
		w.checkImports(t, cluster)
	}
	for _, was := range w.owned {
		if now := w.service(t, "c3", was.Namespace, was.Name).Spec; !same(now, was.Spec) {
			t.Errorf("c3: Service %s has changed: %+v", was.Name, now)
		}
	}
	for _, f := range w.flows {
		if astray && len(f.from) > 1 {
			continue
		}
		if lost := f.lostSince(since); len(lost) > 0 {
			t.Errorf("%d requests of %s to %s were lost, the first: %v", len(lost), f.cluster, f.target, lost[0].err)
		}
	}
}

// changeOthers changes a port of the Service that c1 and c2 export. The returned function waits
// until the derived Services have the new port.
func (w *world) changeOthers(t *testing.T) (followed func()) {
	t.Helper()
	number := w.good()
	planes.Change(t, w.admin["c2"], objects.Service(sharedNamespace, "shared"), func(s *corev1.Service) {
		s.Spec.Ports = append(s.Spec.Ports[:1], corev1.ServicePort{Name: "tick", Port: number, TargetPort: intstr.FromInt32(8080)})
	})
	return func() {
		for _, cluster := range importers {
			derived := objects.Service(sharedNamespace, "shared-clusterset")
			planes.Until(t, cluster+": the derived Service follows a change of c2's Service that c1 exports too", w.admin[cluster], derived, func() error {
				if !slices.ContainsFunc(derived.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == number }) {
					return fmt.Errorf("its ports are %+v", derived.Spec.Ports)
				}
				return nil
			})
		}
	}
}

// checkImports checks everything that a cluster has imported. It repeats the import rules
// independently, because the test must not depend on the code under test.
func (w *world) checkImports(t *testing.T, cluster string) {
	t.Helper()
	for _, was := range w.before[cluster] {
		imported := objects.Import(was.Namespace, was.Name)
		planes.Read(t, w.admin[cluster], imported)
		now, spec := imported.Spec, was.Spec
		if !same(now.IPs, spec.IPs) || now.Type != spec.Type || now.SessionAffinity != spec.SessionAffinity || !same(now.TrafficDistribution, spec.TrafficDistribution) ||
			!slices.ContainsFunc(now.Ports, func(p mcsv1beta1.ServicePort) bool { return same(p, spec.Ports[0]) }) || was.Name == "bystander" && !same(now.Ports, spec.Ports) {
			t.Errorf("%s: the import of %s was %+v and is %+v", cluster, was.Name, spec, now)
		}
	}
	if addresses := w.addressesFrom(t, cluster, quietNamespace, "", "c1"); len(addresses) > 0 {
		t.Errorf("%s: services in namespace %s, from which c1 may not export, have endpoints of c1: %v", cluster, quietNamespace, addresses)
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

// problems returns the reasons why no cluster may import a slice.
func (w *world) problems(cluster string, s *discoveryv1.EndpointSlice) (found []string) {
	say := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if names.IsSystem(s.Namespace) {
		say("an endpoint in a system namespace")
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

// same reports whether two parts of objects are equal.
var same = equality.Semantic.DeepEqual

// newest returns a revision above all others. Importers ignore lower revisions.
func newest() string { return strconv.FormatInt(time.Now().UnixMicro(), 10) }

// record returns an export record of c1.
func record(namespace, service string, number int32) *brokerv1alpha1.ExportedService {
	r := objects.Record("c1", namespace, service, mcsv1beta1.ServicePort{Name: "good", Protocol: corev1.ProtocolTCP, Port: number})
	r.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	r.Annotations[names.AnnotationRevision] = newest()
	return r
}

// published is a slice on the broker with endpoints of such a service.
func published(family discoveryv1.AddressType, namespace, service string, addresses ...string) *slice {
	s := objects.Published("c1", namespace, service+"-"+strings.ToLower(string(family)), service, addresses...)
	s.AddressType, s.Ports[0].Name = family, ptr.To("good")
	s.Annotations[names.AnnotationRevision] = newest()
	return s
}

// put creates or updates an object on the broker with c1's credentials.
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
		// Without admission on the broker, the agent of the cluster that an object names may
		// delete the object at any time.
		if !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
			return err
		}
	}
}

// refused reports whether an error is a refusal of the broker.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) || apierrors.IsRequestEntityTooLargeError(err) ||
		apierrors.IsTooManyRequests(err) || err != nil && strings.Contains(err.Error(), "request is too large")
}

// heartbeats renews c1's lease while its agent is stopped.
func (w *world) heartbeats(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var done sync.WaitGroup
	done.Go(func() {
		wait.UntilWithContext(ctx, func(ctx context.Context) {
			patch := fmt.Sprintf(`{"spec":{"renewTime":%q}}`, time.Now().UTC().Format("2006-01-02T15:04:05.000000Z07:00"))
			if err := planes.Merge(ctx, w.member, objects.Lease("c1"), patch); err != nil && ctx.Err() == nil {
				t.Errorf("renewing c1's heartbeat: %v", err)
			}
		}, 5*time.Second)
	})
	return func() { cancel(); done.Wait() }
}
