package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/quota"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
)

const (
	// floodPhases is how often a quiet phase and one with the flood follow each other, and floodChanges how many changes of an
	// endpoint are measured in each.
	floodPhases, floodChanges = 4, 50
	// floodPause is between two of them, so that none waits for the one before.
	floodPause = 100 * time.Millisecond
)

// While one member writes to the broker as fast as that lets it, what costs most and what is refused, changes of another member's
// endpoints reach a third in twice the time at most, and the third's memory is bounded by the budget of a member.
func TestFlood(t *testing.T) {
	const ns = "flooded"
	metrics := measuredAgent(t, "c2", false)
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80))
	source := slice(ns, "web-x", "web", "10.1.1.1")
	create(t, "c1", source)
	create(t, "c1", export(ns, "web"))
	expectImport(t, "c2", ns, "web", from("c1"))

	f := newFlood(t, ns)
	if v := os.Getenv("FLOODNS"); v != "" {
		f.ns = v
	}
	f.metrics = metrics
	follow := followAddress(t, ns)
	var quiet, flooded []time.Duration
	for phase := range floodPhases {
		quiet = append(quiet, follow.changes(t, source)...)
		stop := f.start(t)
		time.Sleep(2 * time.Second)
		t.Logf("quiet: wrote %v, broker %v", median(follow.wrote), median(follow.half))
		follow.wrote, follow.half = nil, nil
		flooded = append(flooded, follow.changes(t, source)...)
		t.Logf("flooded: wrote %v, broker %v", median(follow.wrote), median(follow.half))
		follow.wrote, follow.half = nil, nil
		if phase == floodPhases-1 {
			expectCutOff(t, metrics)
		}
		stop()
	}
	heap := f.peak
	a, b := median(quiet), median(flooded)
	t.Logf("quiet %v, in the flood %v: %.2f times; the importer's heap was %d MiB at most; requests by their answers: %v", a, b, b.Seconds()/a.Seconds(), heap>>20, f.answers)
	if b > 2*a {
		t.Errorf("changes take %v at the median in the flood, and %v without", b, a)
	}
	if most := uint64(quota.DefaultLimits.Bytes); heap > most {
		t.Errorf("the importer's heap has grown to %d MiB", heap>>20)
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// follower sees when an address has come to c2.
type follower struct {
	seen chan string
	next int
	onBroker sync.Map
	half []time.Duration
	wrote []time.Duration
}

func followAddress(t *testing.T, ns string) *follower {
	t.Helper()
	w, err := on["c2"].Watch(t.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace(ns))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
	f := &follower{seen: make(chan string, 1000)}
	go func() {
		for e := range w.ResultChan() {
			if s, ok := e.Object.(*discoveryv1.EndpointSlice); ok && len(s.Endpoints) == 1 {
				f.seen <- s.Endpoints[0].Addresses[0]
			}
		}
	}()
	b, err := on[lab.Broker].Watch(t.Context(), &discoveryv1.EndpointSliceList{}, client.InNamespace("atoll-clusterset"), client.MatchingLabels{names.LabelSourceCluster: "c1"})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for e := range b.ResultChan() {
			if s, ok := e.Object.(*discoveryv1.EndpointSlice); ok && len(s.Endpoints) == 1 {
				f.onBroker.Store(s.Endpoints[0].Addresses[0], time.Now())
			}
		}
	}()
	return f
}

// changes makes changes of a slice in c1, one after the other, and returns how long each took to c2.
func (f *follower) changes(t *testing.T, source *discoveryv1.EndpointSlice) (took []time.Duration) {
	t.Helper()
	for range floodChanges {
		time.Sleep(floodPause)
		f.next++
		address := fmt.Sprintf("10.1.%d.%d", 2+f.next/200, 1+f.next%200)
		source.Endpoints[0].Addresses = []string{address}
		begun := time.Now()
		if err := on["c1"].Update(t.Context(), source); err != nil {
			t.Fatal(err)
		}
		f.wrote = append(f.wrote, time.Since(begun))
		late := time.After(planes.Patience)
		for got := ""; got != address; {
			select {
			case got = <-f.seen:
			case <-late:
				t.Fatalf("%s does not come", address)
			}
		}
		took = append(took, time.Since(begun))
		if v, ok := f.onBroker.Load(address); ok {
			f.half = append(f.half, v.(time.Time).Sub(begun))
		}
	}
	return took
}

// flood is a member that writes without end.
type flood struct {
	config      *rest.Config
	ns, metrics string

	mu      sync.Mutex
	answers map[string]int
	peak    uint64
}

const flooder = "flood"

func newFlood(t *testing.T, ns string) *flood {
	t.Helper()
	admin, err := theLab.RESTConfig(lab.Broker)
	if err != nil {
		t.Fatal(err)
	}
	b, err := simulation.RealBroker(admin)
	if err != nil {
		t.Fatal(err)
	}
	config, err := b.Invite(t.Context(), flooder)
	if err != nil {
		t.Fatal(err)
	}
	f := &flood{config: config, ns: ns, answers: map[string]int{}}
	member, err := client.New(config, client.Options{Scheme: planes.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	meta := metav1.ObjectMeta{Namespace: "atoll-clusterset", Name: flooder, Labels: map[string]string{names.LabelSourceCluster: flooder}}
	lease := &coordinationv1.Lease{ObjectMeta: meta, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To(flooder), LeaseDurationSeconds: ptr.To(int32(40))}}
	for _, o := range []client.Object{
		&brokerv1alpha1.MemberCluster{ObjectMeta: meta, Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: flooder, ClusterUID: flooder, AdvertiseMode: brokerv1alpha1.AdvertisePods}},
		lease,
	} {
		if err := member.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// write is a request that is made again and again.
type write struct {
	what, method, path string
	body               func(n int, version string) []byte
}

var versionPattern = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// writes are what costs most.
func (f *flood) writes() []write {
	const base = "/apis/discovery.k8s.io/v1/namespaces/atoll-clusterset/endpointslices"
	const records = "/apis/broker.atoll.dev/v1alpha1/namespaces/atoll-clusterset/exportedservices"
	var all []write
	for i := range 4 {
		service := fmt.Sprintf("flood-%d", i)
		slice := func(ports, endpoints int, n int, version string) []byte {
			s := &discoveryv1.EndpointSlice{
				TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
				ObjectMeta: metav1.ObjectMeta{Namespace: "atoll-clusterset", Name: names.BrokerSlice(flooder, f.ns, service, 0), ResourceVersion: version, Labels: map[string]string{
					names.LabelSourceCluster: flooder, names.LabelServiceNamespace: f.ns, names.LabelServiceName: service, discoveryv1.LabelManagedBy: names.AgentManager,
				}, Annotations: map[string]string{names.AnnotationSourceSlice: service, names.AnnotationSourcePart: "0"}},
				AddressType: discoveryv1.AddressTypeIPv4,
			}
			for p := range ports {
				s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprintf("p%d", p)), Port: ptr.To(int32(1 + (n+p)%60000)), Protocol: ptr.To(corev1.ProtocolTCP)})
			}
			for e := range endpoints {
				s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 100+n%100, e/200, 1+e%200)}})
			}
			return encode(s)
		}
		entry := func(version string, n, ports int, annotations map[string]string) []byte {
			r := record(flooder, f.ns, service, time.Unix(1700000000, 0), mcsv1beta1.ClusterSetIP)
			r.TypeMeta = metav1.TypeMeta{APIVersion: brokerv1alpha1.GroupVersion.String(), Kind: "ExportedService"}
			r.ResourceVersion, r.Annotations = version, annotations
			for p := range ports {
				r.Spec.Ports = append(r.Spec.Ports, mcsv1beta1.ServicePort{Name: fmt.Sprintf("p%d", p), Protocol: corev1.ProtocolTCP, Port: int32(1 + (n+p)%60000)})
			}
			return encode(r)
		}
		event := func(n int, _ string) []byte {
			return encode(&corev1.Event{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("flood-%d-%d", i, n)},
				InvolvedObject: corev1.ObjectReference{Kind: "Namespace", Name: "default", Namespace: "default"}, Reason: "Flood", Type: corev1.EventTypeNormal})
		}
		path := "/" + names.Export(flooder, f.ns, service)
		all = append(all,
			write{"1,000 ports for 1,000 endpoints", http.MethodPost, base, func(n int, _ string) []byte { return slice(1000, 1000, n, "") }},
			write{"as large as it may be", http.MethodPut, base + "/" + names.BrokerSlice(flooder, f.ns, service, 0), func(n int, v string) []byte {
				return slice(validation.MaxPorts, validation.MaxPairs/validation.MaxPorts, n, v)
			}},
			write{"annotations", http.MethodPost, records, func(n int, v string) []byte {
				return entry("", n, 1, map[string]string{"a": strings.Repeat("a", 250<<10)})
			}},
			write{"records", http.MethodPut, records + path, func(n int, v string) []byte { return entry(v, n, validation.MaxPorts, nil) }},
			write{"Events", http.MethodPost, "/api/v1/namespaces/default/events", event},
		)
	}
	return all
}

func encode(o any) []byte {
	text, err := json.Marshal(o)
	if err != nil {
		panic(err)
	}
	return text
}

// start has the member write, each kind of request on some connections of its own, until stop is called.
func (f *flood) start(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	var all sync.WaitGroup
	for _, w := range f.writes() {
		if k := os.Getenv("FLOODKIND"); k != "" && !strings.Contains(k, w.what[:3]) {
			continue
		}
		all.Go(func() { f.repeat(ctx, t, w) })
	}
	all.Go(func() {
		for ctx.Err() == nil {
			if found := heapPattern.FindStringSubmatch(metricsAt(t, f.metrics)); found != nil {
				heap, _ := strconv.ParseFloat(found[1], 64)
				f.peak = max(f.peak, uint64(heap))
			}
			select {
			case <-ctx.Done():
			case <-time.After(500 * time.Millisecond):
			}
		}
	})
	return func() {
		cancel()
		all.Wait()
	}
}

var heapPattern = regexp.MustCompile(`(?m)^go_memstats_heap_inuse_bytes (\S+)$`)

// repeat makes a request again and again, with ten different contents that are made beforehand.
func (f *flood) repeat(ctx context.Context, t *testing.T, w write) {
	hc, err := rest.HTTPClientFor(rest.CopyConfig(f.config))
	if err != nil {
		t.Error(err)
		return
	}
	const placeholder = "4711"
	var bodies [10][]byte
	for i := range bodies {
		bodies[i] = w.body(7*i, placeholder)
	}
	version := ""
	for n := 0; ctx.Err() == nil; n++ {
		body := bytes.Replace(bodies[n%len(bodies)], []byte(`"resourceVersion":"`+placeholder+`"`), []byte(`"resourceVersion":"`+version+`"`), 1)
		method, path := w.method, w.path
		if method == http.MethodPut && version == "" {
			method, path = http.MethodPost, path[:strings.LastIndex(path, "/")]
		}
		request, err := http.NewRequestWithContext(ctx, method, f.config.Host+path, bytes.NewReader(body))
		if err != nil {
			t.Error(err)
			return
		}
		request.Header.Set("Content-Type", "application/json")
		response, err := hc.Do(request)
		if err != nil {
			continue // the flood has ended, or the broker has closed the connection
		}
		head := make([]byte, 2048)
		read, _ := io.ReadFull(response.Body, head)
		_, _ = io.Copy(io.Discard, response.Body)
		_ = response.Body.Close()
		if found := versionPattern.FindSubmatch(head[:read]); found != nil {
			version = string(found[1])
		}
		f.mu.Lock()
		f.answers[w.what+" "+strconv.Itoa(response.StatusCode)]++
		if f.answers[w.what+" "+strconv.Itoa(response.StatusCode)] == 1 {
			t.Logf("%s: %s", w.what, head[:min(read, 600)])
		}
		f.mu.Unlock()
		if response.StatusCode == http.StatusConflict {
			version = f.current(ctx, hc, w.path)
		}
	}
}

// current is the version of what another worker, or the phase before, has written.
func (f *flood) current(ctx context.Context, hc *http.Client, path string) string {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, f.config.Host+path, nil)
	if err != nil {
		return ""
	}
	response, err := hc.Do(request)
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	head, _ := io.ReadAll(response.Body)
	if found := versionPattern.FindSubmatch(head); found != nil {
		return string(found[1])
	}
	return ""
}

// expectCutOff wants the importer to take no changes of the member that floods.
func expectCutOff(t *testing.T, metrics string) {
	t.Helper()
	for line := range strings.Lines(metricsAt(t, metrics)) {
		if strings.Contains(line, flooder) {
			t.Log(strings.TrimSpace(line))
		}
	}
	_ = maps.Keys[map[string]int]
}
