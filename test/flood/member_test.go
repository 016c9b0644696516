package flood

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

var (
	perSecond = flag.Int("rate", 5, "requests per second of the bounded flood")
	watches   = flag.Int("watches", 1000, "watches of each kind")
)

// flood writes with a member's own credentials.
type flood struct {
	config  *rest.Config
	ctx     context.Context // of the running flood
	running sync.WaitGroup
	mu      sync.Mutex
	limiter *rate.Limiter  // of all requests
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
	return &flood{config: config, limiter: rate.NewLimiter(rate.Limit(*perSecond), 1), answers: map[string]int{}}
}

// A flow of requests creates an object repeatedly, or updates it if update is set.
type requests struct {
	what   string
	update bool
	path   string
	object func(n int) client.Object
	// many is the number of different objects that are created once; 0 for a flow without end.
	many int
}

const (
	inClusterset  = "/namespaces/" + broker.DefaultNamespace
	slicePath     = "/apis/discovery.k8s.io/v1" + inClusterset + "/endpointslices"
	recordPath    = "/apis/broker.atoll.dev/v1alpha1" + inClusterset + "/exportedservices"
	cataloguePath = "/apis/multicluster.x-k8s.io/v1beta1" + inClusterset + "/serviceimports"
	// manyRecords is the number of a member's records that count; manyServices of them have endpoints in a namespace of the importer.
	manyRecords, manyServices = 10_000, 5_000
)

// fills returns the flows of as many records as count, and of endpoints for half of them.
func fills() (all []requests) {
	const writers = 8
	name := func(n int) string { return fmt.Sprintf("s%d", n) }
	for i := range writers {
		all = append(all, requests{what: "10,000 records", path: recordPath, many: manyRecords / writers, object: func(n int) client.Object {
			r := floodRecord(name(n*writers+i), 0, 1)
			if n*writers+i >= manyServices {
				r = objects.Record(flooder, "elsewhere", name(n*writers+i), r.Spec.Ports...)
				r.TypeMeta = floodRecord("x", 0, 0).TypeMeta
			}
			return r
		}}, requests{what: "5,000 services", path: slicePath, many: manyServices / writers, object: func(n int) client.Object {
			return floodSlice(name(n*writers+i), 0, 1, 1)
		}})
	}
	return all
}

// flows returns several flows of each kind: the largest slices and records that the broker
// accepts, with constant changes; larger objects; and objects that a member may not write.
func flows() (all []requests) {
	for i := range 4 {
		name := fmt.Sprintf("flood-%d", i)
		all = append(all,
			requests{what: "largest slices", update: true, path: slicePath, object: func(n int) client.Object {
				return floodSlice(name, n, validation.MaxPorts, validation.MaxPairs/validation.MaxPorts)
			}},
			requests{what: "1,000 ports", update: false, path: slicePath, object: func(n int) client.Object { return floodSlice(name+"-large", n, 1000, 1000) }},
			requests{what: "records", update: true, path: recordPath, object: func(n int) client.Object { return floodRecord(name, n, validation.MaxPorts) }},
			requests{what: "annotations", update: false, path: recordPath, object: func(n int) client.Object {
				r := floodRecord(name+"-large", n, 1)
				r.Annotations["a"] = strings.Repeat("a", 256<<10-10)
				return r
			}},
			requests{what: "revision 0", update: false, path: recordPath, object: func(n int) client.Object {
				r := floodRecord(name+"-zero", n, 1)
				r.Annotations[names.AnnotationRevision] = "0"
				return r
			}},
			requests{what: "catalogue", update: true, path: cataloguePath, object: func(n int) client.Object { return floodEntry(name, n) }},
			requests{what: "Events", update: false, path: "/api/v1/namespaces/default/events", object: func(n int) client.Object {
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

// floodEntry has as many ports as an entry may have.
func floodEntry(service string, n int) *mcsv1beta1.ServiceImport {
	e := objects.Entry(flooded, service, flooder, flooder)
	e.TypeMeta = metav1.TypeMeta{APIVersion: mcsv1beta1.GroupVersion.String(), Kind: "ServiceImport"}
	for p := range 1000 {
		e.Spec.Ports = append(e.Spec.Ports, mcsv1beta1.ServicePort{Name: fmt.Sprintf("p%d", p), Protocol: corev1.ProtocolTCP, Port: int32(1 + n + p)})
	}
	return e
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
func (f *flood) start(t *testing.T, flows []requests) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	f.ctx = ctx
	for _, r := range flows {
		f.running.Go(func() {
			run := f.repeat
			if r.many > 0 {
				run = f.once
			}
			if err := run(ctx, r); err != nil && ctx.Err() == nil {
				t.Error(err)
			}
		})
	}
	return func() {
		cancel()
		f.running.Wait()
	}
}

// expect fails the test if a response is missing, given by kind of request and status.
func (f *flood) expect(t *testing.T, answers ...string) {
	t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, kind := range answers {
		if f.answers[kind] == 0 {
			t.Errorf("no request had the expected response: %s", kind)
		}
	}
}

func (f *flood) count(what string, status int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.answers[fmt.Sprintf("%s %d", what, status)]++ // 0 for no response
}

// sums returns the number of responses, and of the objects that were created once.
func (f *flood) sums() (all, stored int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, n := range f.answers {
		all += n
	}
	return all, f.answers["10,000 records 201"] + f.answers["5,000 services 201"]
}

// once creates each object once.
func (f *flood) once(ctx context.Context, r requests) error {
	hc, err := rest.HTTPClientFor(rest.CopyConfig(f.config))
	if err != nil {
		return err
	}
	for n := 0; n < r.many && ctx.Err() == nil; n++ {
		body, err := json.Marshal(r.object(n))
		if err != nil {
			return err
		}
		status, _, _ := f.do(ctx, hc, http.MethodPost, r.path, body)
		f.count(r.what, status)
	}
	return nil
}

// opening is how many watches begin at once.
const opening = 20

// watch opens watches of everything that a member may watch, and tries it for the Leases. A watch that the API server ends is
// opened again, until the flood stops.
func (f *flood) watch(t *testing.T) {
	t.Helper()
	hc, err := rest.HTTPClientFor(rest.CopyConfig(f.config))
	planes.NoError(t, err)
	places, of := make(chan struct{}, opening), map[string]string{}
	for _, path := range []string{
		"/apis/coordination.k8s.io/v1" + inClusterset + "/leases",
		slicePath, recordPath, cataloguePath, "/apis/broker.atoll.dev/v1alpha1" + inClusterset + "/memberclusters",
		"/apis/broker.atoll.dev/v1alpha1" + inClusterset + "/servicepolicies",
		"/api/v1" + inClusterset + "/configmaps?fieldSelector=metadata.name%3D" + names.MemberPermissions,
	} {
		path, selector, _ := strings.Cut(path, "?")
		_, version, err := f.do(f.ctx, hc, http.MethodGet, path+"?limit=1&"+selector, nil)
		planes.NoError(t, err)
		of["watch "+path[strings.LastIndex(path, "/")+1:]] = path + "?watch=true&timeoutSeconds=3600&resourceVersion=" + version + "&" + selector
	}
	for range *watches { // the kinds in turn
		for what, path := range of {
			f.running.Go(func() {
				for status := http.StatusOK; status == http.StatusOK && f.ctx.Err() == nil; {
					status = f.open(hc, places, what, path)
				}
			})
		}
	}
}

// open begins a watch in one of the places, and reads everything until the watch ends. It returns the status of the response.
func (f *flood) open(hc *http.Client, places chan struct{}, what, path string) (status int) {
	request, err := http.NewRequestWithContext(f.ctx, http.MethodGet, f.config.Host+path, nil)
	if err != nil {
		return 0
	}
	select {
	case places <- struct{}{}:
	case <-f.ctx.Done():
		return 0
	}
	response, err := hc.Do(request)
	<-places
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	f.count(what, response.StatusCode)
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
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
		f.count(r.what, status)
	}
}

// do makes a request, and returns the status and the resourceVersion of the answer.
func (f *flood) do(ctx context.Context, hc *http.Client, method, path string, body []byte) (status int, version string, err error) {
	request, err := http.NewRequestWithContext(ctx, method, f.config.Host+path, bytes.NewReader(body))
	if err == nil {
		err = f.limiter.Wait(ctx)
	}
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
