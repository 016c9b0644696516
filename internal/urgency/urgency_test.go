package urgency

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestOf(t *testing.T) {
	const shop = "/namespaces/shop/"
	for _, tt := range []struct {
		server       Server
		method, path string
		want         Class
		passes       bool // without giving way
	}{
		{Local, "GET", "/apis/discovery.k8s.io/v1" + shop + "endpointslices", 0, true},
		{Broker, "PUT", "/apis/coordination.k8s.io/v1/namespaces/set/leases/c1", 0, true},
		{Broker, "POST", "/apis/broker.atoll.dev/v1alpha1/namespaces/set/exportedservices", Export, false},
		{Broker, "DELETE", "/apis/broker.atoll.dev/v1alpha1/namespaces/set/exportedservices/web.shop.c1", Export, false},
		{Broker, "POST", "/apis/discovery.k8s.io/v1/namespaces/set/endpointslices", First, false},
		{Broker, "PUT", "/apis/discovery.k8s.io/v1/namespaces/set/endpointslices/x", Now, false},
		{Local, "PUT", "/apis/discovery.k8s.io/v1" + shop + "endpointslices/x", Now, false},
		{Local, "DELETE", "/apis/discovery.k8s.io/v1" + shop + "endpointslices/x", Now, false},
		{Local, "POST", "/apis/discovery.k8s.io/v1" + shop + "endpointslices", Next, false},
		{Local, "POST", "/apis/multicluster.x-k8s.io/v1beta1" + shop + "serviceimports", First, false},
		{Local, "DELETE", "/apis/multicluster.x-k8s.io/v1beta1" + shop + "serviceimports/web", First, false},
		{Local, "PATCH", "/apis/multicluster.x-k8s.io/v1beta1" + shop + "serviceimports/web", Next, false},
		{Local, "POST", "/api/v1" + shop + "services", Next, false},
		{Local, "PATCH", "/apis/multicluster.x-k8s.io/v1beta1" + shop + "serviceimports/web/status", Last, false},
		{Local, "PATCH", "/apis/multicluster.x-k8s.io/v1beta1" + shop + "serviceexports/web/status", Last, false},
		{Broker, "POST", "/apis/multicluster.x-k8s.io/v1beta1/namespaces/set/serviceimports", Last, false},
		{Local, "POST", "/apis/events.k8s.io/v1" + shop + "events", Last, false},
		{Broker, "POST", "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", Last, false},
		{Local, "POST", "/", Last, false},
	} {
		for _, prefix := range []string{"", "/clusters/one"} { // a proxy may put something in front
			got, waits := Of(tt.server, tt.method, prefix+tt.path)
			if got != tt.want || waits == tt.passes {
				t.Errorf("%s %s: %v, gives way: %v", tt.method, prefix+tt.path, got, waits)
			}
		}
	}
}

// takes is an API server that answers after a while, and notes what was asked when.
type takes struct {
	d    time.Duration
	log  *[]string
	from time.Time
}

func (s takes) RoundTrip(r *http.Request) (*http.Response, error) {
	*s.log = append(*s.log, r.URL.Path+" "+time.Since(s.from).String())
	<-time.After(s.d)
	return &http.Response{}, nil
}

// run sends requests, written as "local POST resource" and at once but in this order, to API
// servers that take so long, and returns when each arrived.
func run(t *testing.T, local, broker time.Duration, requests ...string) string {
	var log []string
	synctest.Test(t, func(t *testing.T) {
		gate := &Gate{}
		now := time.Now()
		servers := map[string]http.RoundTripper{
			"local":  gate.Transport(Local)(takes{local, &log, now}),
			"broker": gate.Transport(Broker)(takes{broker, &log, now}),
		}
		for _, request := range requests {
			f := strings.Fields(request)
			r, _ := http.NewRequestWithContext(t.Context(), f[1], "http://x/apis/g/v/namespaces/n/"+f[2], nil)
			go func() {
				if _, err := servers[f[0]].RoundTrip(r); err != nil {
					t.Error(err)
				}
			}()
			synctest.Wait()
		}
		<-time.After(time.Minute) // all are answered
	})
	return strings.ReplaceAll(strings.Join(log, ", "), "/apis/g/v/namespaces/n/", "")
}

func TestWhatIsLessUrgentGivesWay(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		local, broker time.Duration
		requests      string
		want          string
	}{
		"alone nothing waits": {10 * ms, 10 * ms, "local POST events", "events 0s"},
		"of one class nothing waits": {10 * ms, 10 * ms, "local POST events;local PATCH serviceimports/a/status",
			"events 0s, serviceimports/a/status 0s"},
		"what is more urgent does not wait": {10 * ms, 10 * ms, "local POST events;local POST serviceimports",
			"events 0s, serviceimports 0s"},
		"one after the other": {10 * ms, 5 * ms, "local PUT endpointslices/a;local POST serviceimports;local POST services;local POST events",
			"endpointslices/a 0s, serviceimports 10ms, services 20ms, events 30ms"},
		"another server's few do not count": {10 * ms, 200 * ms, "broker POST exportedservices;local POST serviceimports;local POST events",
			"exportedservices 0s, serviceimports 0s, events 10ms"},
		"another server's crowd does": {10 * ms, 20 * ms, strings.Repeat("broker POST exportedservices;", crowd) + "local POST serviceimports",
			strings.Repeat("exportedservices 0s, ", crowd) + "serviceimports 20ms"},
		"all exports are there before the endpoints of the first": {10 * ms, 5 * ms, "broker POST exportedservices;broker POST endpointslices;broker POST exportedservices",
			"exportedservices 0s, exportedservices 0s, endpointslices 5ms"},
		"a server that hangs is not waited for": {10 * ms, 30 * time.Second, strings.Repeat("broker POST exportedservices;", crowd) + "local POST events",
			strings.Repeat("exportedservices 0s, ", crowd) + "events 300ms"},
		"leases never wait": {10 * ms, 10 * ms, "broker POST exportedservices;broker PUT leases/a",
			"exportedservices 0s, leases/a 0s"},
		"nor do reads": {10 * ms, 10 * ms, "broker POST exportedservices;local GET services/a",
			"exportedservices 0s, services/a 0s"},
	} {
		if got := run(t, tt.local, tt.broker, strings.Split(tt.requests, ";")...); got != tt.want {
			t.Errorf("%s: %s; want %s", name, got, tt.want)
		}
	}
}

// What its caller knows to be urgent is, whatever it looks like.
func TestAt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &Gate{}
		var log []string
		server := gate.Transport(Local)(takes{time.Millisecond, &log, time.Now()})
		leave := gate.Enter(t.Context(), Local, Now)
		defer leave()
		r, _ := http.NewRequestWithContext(At(t.Context(), Now), "POST", "http://x/api/v1/namespaces/n/events", nil)
		if _, err := server.RoundTrip(r); err != nil || log[0] != "/api/v1/namespaces/n/events 0s" {
			t.Errorf("%v, error %v", log, err)
		}
	})
}

// A read that an export waits for is given way to, and does not wait itself.
func TestUrgentReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate, now := &Gate{}, time.Now()
		var log []string
		server := gate.Transport(Local)(takes{10 * time.Millisecond, &log, now})
		do := func(ctx context.Context, method, resource string) {
			r, _ := http.NewRequestWithContext(ctx, method, "http://x/api/v1/namespaces/n/"+resource, nil)
			go func() { _, _ = server.RoundTrip(r) }()
			synctest.Wait()
		}
		do(t.Context(), "PUT", "endpointslices/a") // more urgent
		do(At(t.Context(), Export), "GET", "services/a")
		do(t.Context(), "POST", "services")
		<-time.After(time.Minute)
		const n = "/api/v1/namespaces/n/"
		if got, want := strings.Join(log, ", "), n+"endpointslices/a 0s, "+n+"services/a 0s, "+n+"services 10ms"; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	})
}

// Who gives up does not go on waiting.
func TestEnterEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gate := &Gate{}
		leave := gate.Enter(t.Context(), Local, Now)
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		start := time.Now()
		gate.Enter(ctx, Local, Last)()
		if waited := time.Since(start); waited != time.Millisecond {
			t.Errorf("it waited for %v", waited)
		}
		leave()
	})
}

// Writes that come one after the other, as others let them come, are a burst, and what is less
// urgent goes after it and not between them; but changes of slices never are one.
func TestBursts(t *testing.T) {
	const ms = time.Millisecond
	for name, tt := range map[string]struct {
		server   Server
		class    Class // of what comes every 10 ms, and takes 2
		n        int
		give     Class // of what comes after a crowd of them, to the local server
		from, to time.Duration
	}{
		"imports, and what makes them usable": {Local, First, 40, Next, 400 * ms, 430 * ms},
		"for a second at most":                {Local, First, 400, Next, 85*ms + Patience, 85*ms + Patience},
		"what nobody waits for, for three":    {Local, First, 400, Last, 85*ms + LastPatience, 85*ms + LastPatience},
		"exports, and this cluster's own":     {Broker, Export, 20, Next, 200 * ms, 230 * ms},
		"also where the server is another":    {Broker, Export, 400, Next, 85*ms + Patience, 85*ms + Patience},
		"what is as urgent does not wait":     {Local, First, 40, First, 85 * ms, 85 * ms},
		"changes of slices":                   {Local, Now, 40, Last, 85 * ms, 85 * ms},
		"nor those on the broker":             {Broker, Now, 40, Last, 85 * ms, 85 * ms},
	} {
		synctest.Test(t, func(t *testing.T) {
			gate, start := &Gate{}, time.Now()
			var writes sync.WaitGroup
			for i := range tt.n {
				writes.Go(func() {
					<-time.After(time.Duration(i) * 10 * ms)
					leave := gate.Enter(t.Context(), tt.server, tt.class)
					<-time.After(2 * ms)
					leave()
				})
			}
			<-time.After(85 * ms) // nine have begun
			gate.Enter(t.Context(), Local, tt.give)()
			if began := time.Since(start); began < tt.from || began > tt.to {
				t.Errorf("%s: it began after %v, not after %v to %v", name, began, tt.from, tt.to)
			}
			writes.Wait()
		})
	}
}

// It is asked for each write that waits whenever another one ends: in a burst that was a sixth of what an agent allocated.
func TestABurstIsFoundWithoutAllocations(t *testing.T) {
	var to traffic
	for class := range Last {
		for range crowd {
			to.latest[class] = append(to.latest[class], time.Now())
		}
	}
	if n := testing.AllocsPerRun(100, func() { to.burst(Last) }); n > 0 {
		t.Errorf("%g allocations", n)
	}
}
