// Package flood tests how a member that writes without pause affects other members, with real
// agents and API servers.
package flood

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

const (
	// flooder writes without pause and has no agent.
	flooder = "flood"
	flooded = "flooded" // the namespace
	// Quiet phases and flooded phases alternate, so that other load on the machine affects
	// both.
	floodPhases, changesInPhase = 2, 50
	// betweenChanges exceeds the delay between two writes of a slice.
	betweenChanges = 120 * time.Millisecond
)

// A member writes to the broker as fast as possible: the most expensive objects that it may
// write, and objects that the broker denies. Another member's changes must still reach a third
// member, whose memory must stay within the budget. The test logs how much longer the changes
// take.
func TestFlood(t *testing.T) {
	if testing.Short() || !planes.Nightly() {
		t.Skip("needs API servers, and several minutes: nightly")
	}
	b := newBed(t)
	web := bed.Service{Namespace: flooded, Name: "web", Endpoints: 1}
	planes.NoError(t, b.Namespace(t.Context(), flooded, b.Members...))
	planes.NoError(t, web.Create(t.Context(), b.On["c1"]))
	planes.NoError(t, web.Export(t.Context(), b.On["c1"]))
	follow := newFollower(t, b, web)
	follow.change(t)

	f := newFlood(t, b)
	var quiet, loud []time.Duration
	var peak float64
	for range floodPhases {
		quiet = append(quiet, follow.changes(t)...)
		stop := f.start(t)
		loud = append(loud, follow.changes(t)...)
		peak = max(peak, importer(t, b).Sum("go_memstats_heap_inuse_bytes"))
		stop()
	}
	before, during := median(quiet), median(loud)
	t.Logf("a change takes %v, and %v in the flood: ratio %.2f; the importer's heap is at most %.0f MiB; answers to the flood: %v",
		before, during, during.Seconds()/before.Seconds(), peak/(1<<20), f.answers)
	if peak > float64(border.DefaultLimits.Bytes) {
		t.Errorf("the importer's heap has grown to %.0f MiB", peak/(1<<20))
	}
	for _, kind := range []string{"largest slices 200", "records 200", "1,000 ports 422", "annotations 422", "Events 403"} {
		if f.answers[kind] == 0 {
			t.Errorf("no request had the expected response: %s", kind)
		}
	}
}

// newBed starts a lab of two clusters and a broker.
func newBed(t *testing.T) *bed.Bed {
	t.Helper()
	programs, remove, err := planes.Programs(t.Context())
	planes.NoError(t, err)
	t.Cleanup(remove)
	b, err := bed.Up(t.Context(), bed.Options{Name: fmt.Sprintf("flood-%d", os.Getpid()), Programs: programs, Clusters: 2, Progress: os.Stderr})
	planes.NoError(t, err)
	t.Cleanup(func() { planes.NoError(t, b.Down(context.Background())) })
	return b
}

// importer returns the metrics of c2's agent.
func importer(t *testing.T, b *bed.Bed) bed.Metrics {
	t.Helper()
	metrics, err := b.AgentMetrics(t.Context(), "c2")
	planes.NoError(t, err)
	return metrics
}

func median(all []time.Duration) time.Duration { return slices.Sorted(slices.Values(all))[len(all)/2] }

// follower changes the endpoint of a Service in c1 and detects when c2 has imported the change.
type follower struct {
	exporter client.Client
	importer *bed.Observer
	source   *discoveryv1.EndpointSlice
	number   int
}

func newFollower(t *testing.T, b *bed.Bed, s bed.Service) *follower {
	t.Helper()
	o, err := bed.Observe(t.Context(), b.On["c2"], s.Namespace)
	planes.NoError(t, err)
	source := s.Slices()[0]
	planes.NoError(t, b.On["c1"].Get(t.Context(), client.ObjectKeyFromObject(source), source))
	return &follower{exporter: b.On["c1"], importer: o, source: source}
}

// changes makes changes at intervals and returns how long each took.
func (f *follower) changes(t *testing.T) (took []time.Duration) {
	t.Helper()
	next := time.NewTicker(betweenChanges)
	defer next.Stop()
	for range changesInPhase {
		took = append(took, f.change(t))
		<-next.C
	}
	return took
}

func (f *follower) change(t *testing.T) time.Duration {
	t.Helper()
	f.number++
	f.source.Endpoints[0].Addresses = []string{bed.Address(1000 + f.number)}
	ctx, cancel := context.WithTimeout(t.Context(), planes.Patience)
	defer cancel()
	begun := time.Now()
	planes.NoError(t, f.exporter.Update(ctx, f.source))
	at, err := f.importer.Await(ctx, bed.Appeared(f.source.Endpoints[0].Addresses[0]))
	planes.NoError(t, err)
	return at.Sub(begun)
}

// flood writes with a member's own credentials.
type flood struct {
	config  *rest.Config
	mu      sync.Mutex
	answers map[string]int // number of responses, by kind of request and status
}

func newFlood(t *testing.T, b *bed.Bed) *flood {
	t.Helper()
	clusterset, err := b.Broker()
	planes.NoError(t, err)
	config, err := clusterset.Invite(t.Context(), flooder)
	planes.NoError(t, err)
	member, err := client.New(config, client.Options{Scheme: planes.Scheme()})
	planes.NoError(t, err)
	planes.Create(t, member, objects.Member(flooder), objects.Lease(flooder))
	return &flood{config: config, answers: map[string]int{}}
}

// A flow of requests creates an object repeatedly, or updates it if update is set.
type requests struct {
	what   string
	update bool
	path   string
	object func(n int) client.Object
}

const (
	slicePath  = "/apis/discovery.k8s.io/v1/namespaces/" + broker.DefaultNamespace + "/endpointslices"
	recordPath = "/apis/broker.atoll.dev/v1alpha1/namespaces/" + broker.DefaultNamespace + "/exportedservices"
)

// flows returns several flows of each kind: the largest slices and records that the broker
// accepts, with constant changes; larger objects; and objects that a member may not write.
func flows() (all []requests) {
	for i := range 4 {
		name := fmt.Sprintf("flood-%d", i)
		all = append(all,
			requests{"largest slices", true, slicePath, func(n int) client.Object {
				return floodSlice(name, n, validation.MaxPorts, validation.MaxPairs/validation.MaxPorts)
			}},
			requests{"1,000 ports", false, slicePath, func(n int) client.Object { return floodSlice(name+"-large", n, 1000, 1000) }},
			requests{"records", true, recordPath, func(n int) client.Object { return floodRecord(name, n, validation.MaxPorts) }},
			requests{"annotations", false, recordPath, func(n int) client.Object {
				r := floodRecord(name+"-large", n, 1)
				r.Annotations["a"] = strings.Repeat("a", 256<<10-10)
				return r
			}},
			requests{"Events", false, "/api/v1/namespaces/default/events", func(n int) client.Object {
				return &corev1.Event{
					TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Event"}, ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: fmt.Sprintf("%s-%d", name, n)},
					InvolvedObject: corev1.ObjectReference{Kind: "Namespace", Name: "default", Namespace: "default"}, Reason: "Flood",
				}
			}},
		)
	}
	return all
}

func floodSlice(service string, n, ports, endpoints int) *discoveryv1.EndpointSlice {
	s := objects.Published(flooder, flooded, service, service)
	s.TypeMeta = metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"}
	s.Ports = nil
	for p := range ports {
		s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To(fmt.Sprintf("p%d", p)), Port: ptr.To(int32(1 + n + p)), Protocol: ptr.To(corev1.ProtocolTCP)})
	}
	for e := range endpoints {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.%d.%d.%d", 100+n%100, e/200, 1+e%200)}})
	}
	return s
}

func floodRecord(service string, n, ports int) *brokerv1alpha1.ExportedService {
	r := objects.Record(flooder, flooded, service)
	r.TypeMeta = metav1.TypeMeta{APIVersion: brokerv1alpha1.GroupVersion.String(), Kind: "ExportedService"}
	r.Spec.ExportedAt = metav1.Unix(1_700_000_000, 0)
	for p := range ports {
		r.Spec.Ports = append(r.Spec.Ports, mcsv1beta1.ServicePort{Name: fmt.Sprintf("p%d", p), Protocol: corev1.ProtocolTCP, Port: int32(1 + n + p)})
	}
	return r
}

// start starts the member's writes, each flow on its own connection, until stop is called.
func (f *flood) start(t *testing.T) (stop func()) {
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	var all sync.WaitGroup
	for _, r := range flows() {
		all.Go(func() {
			if err := f.repeat(ctx, r); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
	}
}

var versionPattern = regexp.MustCompile(`"resourceVersion":"(\d+)"`)

// placeholder is replaced with the current resource version in a prepared body.
const placeholder = "4711"

// repeat sends requests with ten bodies in turn.
func (f *flood) repeat(ctx context.Context, r requests) error {
	hc, err := rest.HTTPClientFor(rest.CopyConfig(f.config))
	if err != nil {
		return err
	}
	var bodies [10][]byte
	var name string
	for i := range bodies {
		o := r.object(10 * i)
		name = o.GetName()
		if r.update {
			o.SetResourceVersion(placeholder)
		}
		if bodies[i], err = json.Marshal(o); err != nil {
			return err
		}
	}
	version := ""
	if r.update {
		if _, version, err = f.do(ctx, hc, http.MethodGet, r.path+"/"+name, nil); err != nil {
			return err
		}
	}
	for n := 0; ; n++ {
		method, path, body := http.MethodPost, r.path, bodies[n%len(bodies)]
		if version != "" {
			method, path = http.MethodPut, path+"/"+name
		}
		body = bytes.Replace(body, []byte(`"resourceVersion":"`+placeholder+`"`), []byte(`"resourceVersion":"`+version+`"`), 1)
		status, now, _ := f.do(ctx, hc, method, path, body)
		switch {
		case ctx.Err() != nil:
			return nil
		case r.update:
			version = cmp.Or(now, version)
		}
		f.mu.Lock()
		f.answers[fmt.Sprintf("%s %d", r.what, status)]++ // 0 for no response
		f.mu.Unlock()
	}
}

// do makes a request, and returns the status and the resourceVersion of the answer.
func (f *flood) do(ctx context.Context, hc *http.Client, method, path string, body []byte) (status int, version string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, f.config.Host+path, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := hc.Do(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if found := versionPattern.FindSubmatch(text); found != nil {
		version = string(found[1])
	}
	return response.StatusCode, version, err
}
