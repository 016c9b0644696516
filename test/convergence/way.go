package convergence

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var errCut = errors.New("the connection is lost")

// trouble has the probabilities of faults of requests.
type trouble struct {
	refuse float64       // the request fails before the API server sees it
	lose   float64       // the API server handles the request and the response is lost
	slow   time.Duration // the longest delay of a request or of a part of its response
}

// way is the connection of a cluster's programs to an API server.
type way struct {
	mu     sync.Mutex
	random *rand.Rand
	cut    bool
	trouble
	revoked    bool            // new requests are refused; open watches go on
	uncompared bool            // requests of comparisons are refused
	during     context.Context // ends whatever is on the way
	end        context.CancelFunc

	// at has the number of requests at the present instant.
	instant time.Time
	at      int
}

func newWay(random *rand.Rand) *way {
	w := &way{random: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
	w.during, w.end = context.WithCancel(context.Background())
	return w
}

// stop refuses new requests and ends current requests.
func (w *way) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = true
	w.end()
}

func (w *way) isCut() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.cut
}

// reset ends all current requests and watches.
func (w *way) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end()
	w.during, w.end = context.WithCancel(context.Background())
}

// worsen sets the probabilities of faults.
func (w *way) worsen(t trouble) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.trouble = t
}

// heal ends all faults of the connection.
func (w *way) heal() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut, w.trouble = false, trouble{}
	if w.during.Err() != nil {
		w.during, w.end = context.WithCancel(context.Background())
	}
}

// revoke makes the credentials of the connection invalid, or valid again.
func (w *way) revoke(revoked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.revoked = revoked
}

// allowComparisons lets comparisons pass, or makes them fail.
func (w *way) allowComparisons(allowed bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.uncompared = !allowed
}

// isComparison reports whether a request lists metadata: agents do so only in comparisons.
func isComparison(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList")
}

// fate is the fault of a request.
type fate struct {
	cut, lost bool
	refused   *apierrors.StatusError
	during    context.Context
}

func (w *way) draw(r *http.Request) fate {
	w.mu.Lock()
	defer w.mu.Unlock()
	f := fate{cut: w.cut, lost: w.random.Float64() < w.lose, during: w.during}
	switch {
	case w.revoked:
		f.refused = apierrors.NewUnauthorized("Unauthorized")
	case w.uncompared && isComparison(r):
		f.refused = apierrors.NewServiceUnavailable("no comparisons")
	case w.random.Float64() < w.refuse:
		f.refused = refusals[w.random.IntN(len(refusals))]
	}
	return f
}

// tooMany requests at one instant are a controller that works in a circle. Time would stand still.
const tooMany = 20_000

// count counts the requests at one instant.
func (w *way) count(r *http.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now := time.Now(); !now.Equal(w.instant) {
		w.instant, w.at = now, 0
	}
	if w.at++; w.at == tooMany {
		text := fmt.Sprintf("%d requests at one instant, the last one %s %s", w.at, r.Method, r.URL.Path)
		go func() { panic(text) }() // a controller recovers from panics
	}
}

// hold delays the caller by the current random delay.
func (w *way) hold(ctx context.Context) {
	w.mu.Lock()
	var delay time.Duration
	if w.slow > 0 {
		delay = time.Duration(w.random.Int64N(int64(w.slow)))
	}
	w.mu.Unlock()
	pause(ctx, delay)
}

// pause waits for a while, or until ctx is done.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// of returns the connection for a process. Requests end when the process dies.
func (w *way) of(life context.Context) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper { return traveller{w, life, next} }
}

type traveller struct {
	way  *way
	life context.Context
	next http.RoundTripper
}

// RoundTrip sends a request, with a fault if fate says so.
func (t traveller) RoundTrip(r *http.Request) (*http.Response, error) {
	if !isPrompt(r) {
		t.way.hold(r.Context())
	}
	t.way.count(r)
	fate := t.way.draw(r)
	if fate.cut || t.life.Err() != nil {
		return nil, errCut
	}
	write := r.Method != http.MethodGet
	if fate.refused != nil {
		return refusal(r, fate.refused)
	}
	ctx, cancel := context.WithCancel(r.Context())
	leave := context.AfterFunc(fate.during, cancel)
	die := context.AfterFunc(t.life, cancel)
	done := func() {
		leave()
		die()
		cancel()
	}
	response, err := t.next.RoundTrip(r.WithContext(ctx))
	switch {
	case err != nil:
		done()
		return nil, err
	case fate.lost && write:
		_ = response.Body.Close() // the client gets no response
		done()
		return nil, errCut
	}
	response.Body = &slowBody{t.way, r.Context(), response.Body, isPrompt(r), done}
	return response, nil
}

// isPrompt reports requests that are never delayed: discovery and Events. Clients send these
// requests while they hold a lock, and the time of a synctest bubble stands still while a
// goroutine waits for a lock.
func isPrompt(r *http.Request) bool {
	if strings.HasPrefix(r.URL.Path, "/apis/events.k8s.io/") {
		return true
	}
	depth := strings.Count(strings.Trim(r.URL.Path, "/"), "/")
	return strings.HasPrefix(r.URL.Path, "/apis") && depth < 3 || depth < 2
}

// slowBody is a response body with delays.
type slowBody struct {
	way  *way
	ctx  context.Context
	body io.ReadCloser
	fast bool
	done func()
}

func (b *slowBody) Read(into []byte) (int, error) {
	n, err := b.body.Read(into)
	if !b.fast {
		b.way.hold(b.ctx)
	}
	return n, err
}

// Close ends the request.
func (b *slowBody) Close() error {
	b.done()
	return b.body.Close()
}

// refusals are API server errors that say nothing about the object.
var refusals = []*apierrors.StatusError{
	apierrors.NewInternalError(errors.New("etcdserver: request timed out")),
	apierrors.NewServiceUnavailable("apiserver is shutting down"),
	apierrors.NewTooManyRequestsError("too many requests, please try again later"),
	apierrors.NewTimeoutError("the server was unable to return a response in the time allotted", 0),
	apierrors.NewForbidden(schema.GroupResource{Resource: "anything"}, "", errors.New("exceeded quota: all")),
	apierrors.NewUnauthorized("Unauthorized"),
}

func refusal(r *http.Request, err *apierrors.StatusError) (*http.Response, error) {
	status := err.Status()
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	body, failed := json.Marshal(status)
	if failed != nil {
		return nil, failed
	}
	return &http.Response{
		StatusCode: int(status.Code), Status: http.StatusText(int(status.Code)), Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(body)), Request: r,
	}, nil
}
