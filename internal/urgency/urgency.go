// Package urgency has writes that nobody waits for give way to those that others wait for,
// within one agent: in a burst of exports the records of all come before anybody's conditions,
// catalogue entries and Events, which are most of the writes.
//
// It is no limit to the rate: without more urgent writes under way at that moment, or a burst of
// them, nothing waits, and nothing waits for long.
package urgency

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Class is how urgent a write is; the lower, the more.
type Class int

const (
	// Now is what endpoints' lives depend on: changes of EndpointSlices.
	Now Class = iota
	// Export is what all other clusters wait for first: exports on the broker.
	Export
	// First is what makes a service known in a cluster, its ServiceImport, and what the others
	// wait for next: its EndpointSlices on the broker.
	First
	// Next is what makes it usable.
	Next
	// Last is what only tells how it went: status, catalogue, Events.
	Last

	classes = int(Last) + 1
)

const (
	// Patience is how long a write gives way at most, and LastPatience one that nobody waits for.
	// What passes in a burst because its patience is over takes its time from the rest: as many writes
	// in each such time as all controllers have workers.
	Patience, LastPatience = time.Second, 3 * time.Second
	// prompt is how soon an API server that is well answers. A write that has been under way for
	// longer is not given way to: it may hang, and another one not.
	prompt = 300 * time.Millisecond
	// A burst is a crowd of exports, imports or new slices that have begun within so long. Their next
	// ones are given way to before they come: they come one after the other, as fast as somebody
	// else's API server lets them, and what went between them would make that slower. It is over when
	// none has come for so many times their mean distance.
	crowd, burst, distances = 8, 250 * time.Millisecond, 3
)

// Server is whose API server a write goes to.
type Server int

// The API servers that an agent writes to.
const (
	Local Server = iota
	Broker

	servers = int(Broker) + 1
)

type key struct{}

// At returns a context whose writes are of a class, whatever they look like, and whose reads are
// given way to as such.
func At(ctx context.Context, class Class) context.Context {
	return context.WithValue(ctx, key{}, class)
}

// Of returns the class of a request to a path of the Kubernetes API, and false for what never
// gives way, nor is given way to unless its context says so: reads, and leases.
func Of(server Server, method, path string) (class Class, waits bool) {
	if method == http.MethodGet || method == http.MethodHead {
		return 0, false
	}
	resource, subresource := resourceOf(path)
	switch {
	case resource == "leases":
		return 0, false
	case subresource != "":
		return Last, true
	case resource == "endpointslices" && method != http.MethodPost:
		return Now, true
	case resource == "exportedservices":
		return Export, true
	case resource == "serviceimports" && server == Local && (method == http.MethodPost || method == http.MethodDelete),
		resource == "endpointslices" && server == Broker:
		return First, true
	case resource == "serviceimports" && server == Local, resource == "services", resource == "endpointslices":
		return Next, true
	default:
		return Last, true
	}
}

// resourceOf takes a path apart, as /apis/GROUP/VERSION/namespaces/NAMESPACE/RESOURCE/NAME/SUBRESOURCE.
func resourceOf(path string) (resource, subresource string) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if at := slices.Index(parts, "namespaces"); at >= 0 && at+2 < len(parts) {
		parts = parts[at+2:]
	} else {
		return "", ""
	}
	if len(parts) > 2 {
		subresource = parts[2]
	}
	return parts[0], subresource
}

// Gate is where the writes of one agent pass. The zero value lets everything pass that comes
// alone.
type Gate struct {
	mu      sync.Mutex
	to      [servers]traffic
	changed chan struct{} // closed when a write has begun or ended
}

// traffic are the writes to one API server.
type traffic struct {
	waiting [classes]int                // writes that give way
	began   [classes]map[*int]time.Time // writes under way
	latest  [classes][]time.Time        // when the latest began, a crowd of them at most, in order
}

// Enter returns when a write of a class may begin, or ctx is done. The returned function has
// to be called when the write has been answered.
func (g *Gate) Enter(ctx context.Context, server Server, class Class) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	own := &g.to[server]
	own.waiting[class]++
	for start := time.Now(); ; {
		wait := g.wait(server, class, time.Since(start))
		if wait <= 0 || ctx.Err() != nil {
			own.waiting[class]--
			return g.begin(own, class)
		}
		g.sleep(ctx, wait)
	}
}

// wait returns for how long a write that has waited already is to give way, if no other begins
// or ends meanwhile. It is called with mu held.
func (g *Gate) wait(server Server, class Class, waited time.Duration) (longest time.Duration) {
	patience := Patience
	if class == Last {
		patience = LastPatience
	}
	for s := range g.to {
		longest = max(longest, g.to[s].burst(class))
	}
	return min(max(longest, g.to[server].urgent(class)), patience-waited)
}

// urgent returns for how long writes that are under way, or wait themselves, are given way to by
// a class.
func (t *traffic) urgent(class Class) (left time.Duration) {
	for c := range class {
		if t.waiting[c] > 0 {
			left = Patience
		}
		left = max(left, t.underWay(c))
	}
	return left
}

// underWay returns for how long writes of a class that have begun are given way to.
func (t *traffic) underWay(class Class) (left time.Duration) {
	for _, at := range t.began[class] {
		left = max(left, prompt-time.Since(at))
	}
	return left
}

// burst returns for how long a burst of more urgent writes is given way to, those to come of it
// too. Changes of slices are no part of it: they go on for as long as there is life in a cluster.
func (t *traffic) burst(class Class) (left time.Duration) {
	latest := make([]time.Time, 0, int(Last-Export)*crowd) // of a fixed size, as it is asked for often: nothing is allocated
	for c := Export; c < class; c++ {
		latest = append(latest, t.latest[c]...)
		left = max(left, t.underWay(c))
	}
	slices.SortFunc(latest, time.Time.Compare)
	latest = latest[max(0, len(latest)-crowd):]
	if len(latest) < crowd || time.Since(latest[0]) > burst {
		return 0
	}
	last := latest[crowd-1]
	return max(left, distances*last.Sub(latest[0])/(crowd-1)-time.Since(last))
}

// sleep returns when something has changed, after d, or when ctx is done. It is called with mu
// held, which it lets go meanwhile.
func (g *Gate) sleep(ctx context.Context, d time.Duration) {
	if g.changed == nil {
		g.changed = make(chan struct{})
	}
	changed := g.changed
	g.mu.Unlock()
	defer g.mu.Lock()
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-changed:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// wake is called with mu held, when a write has begun or ended.
func (g *Gate) wake() {
	if g.changed != nil {
		close(g.changed)
		g.changed = nil
	}
}

// begin is called with mu held.
func (g *Gate) begin(to *traffic, class Class) (leave func()) {
	if to.began[class] == nil {
		to.began[class] = map[*int]time.Time{}
	}
	id, now := new(int), time.Now()
	to.began[class][id] = now
	to.latest[class] = append(to.latest[class], now)
	to.latest[class] = to.latest[class][max(0, len(to.latest[class])-crowd):]
	g.wake()
	return sync.OnceFunc(func() {
		g.mu.Lock()
		defer g.mu.Unlock()
		delete(to.began[class], id)
		g.wake()
	})
}

// read begins a read that something of a class waits for. It gives way to nothing.
func (g *Gate) read(server Server, class Class) (leave func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.begin(&g.to[server], class)
}

// Transport has the writes to an API server pass the gate on their way to next.
func (g *Gate) Transport(server Server) func(next http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return &transport{g, server, next} }
}

type transport struct {
	gate   *Gate
	server Server
	next   http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	class, waits := Of(t.server, r.Method, r.URL.Path)
	given, is := r.Context().Value(key{}).(Class)
	if is {
		class = given
	}
	switch {
	case waits:
		defer t.gate.Enter(r.Context(), t.server, class)()
	case is:
		defer t.gate.read(t.server, class)()
	}
	return t.next.RoundTrip(r)
}

// WrappedRoundTripper lets client-go look through.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.next }
