package kit

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// recorder records reconcile requests and does nothing else.
type recorder struct {
	mu   sync.Mutex
	seen map[string]int
}

func (r *recorder) Reconcile(_ context.Context, req reconcile.Request) (reconcile.Result, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen[req.Name]++
	return reconcile.Result{}, nil
}

func (r *recorder) times(name string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.seen[name]
}

// A controller receives existing and new objects. When the controller stops, the shared cache
// continues and keeps no reference to it: the next controller with its name receives all
// objects again.
func TestWatchOutlivesItsController(t *testing.T) {
	server := apiserver.New(1)
	c, err := client.New(server.Config(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	shared, err := cache.New(server.Config(), cache.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = shared.Start(t.Context()) }()
	create := func(name string) {
		t.Helper()
		if err := c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}}); err != nil {
			t.Fatal(err)
		}
	}
	start := func() (*recorder, func()) {
		t.Helper()
		r := &recorder{seen: map[string]int{}}
		run, err := New("watch-test", reconcile.Reconciler(r))
		if err != nil {
			t.Fatal(err)
		}
		if err := run.Watch(Watch(shared, &corev1.ConfigMap{}, Same[*corev1.ConfigMap])); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() { ended <- run.Start(ctx) }()
		return r, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	}
	until := func(r *recorder, name string) {
		t.Helper()
		for deadline := time.Now().Add(30 * time.Second); r.times(name) == 0; {
			if time.Now().After(deadline) {
				t.Fatalf("%s is not reconciled", name)
			}
			<-time.After(time.Millisecond)
		}
	}
	create("first")
	one, end := start()
	until(one, "first")
	create("second")
	until(one, "second")
	end()
	two, end := start()
	defer end()
	create("third")
	until(two, "first")
	until(two, "third")
	if n := one.times("third"); n > 0 {
		t.Errorf("the stopped controller reconciled %d times", n)
	}
}

// Follow returns as soon as the calls for the first list have returned: it does not poll.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer synctest.Wait()
		defer cancel()
		server := apiserver.New(1)
		c, err := client.New(server.Config(), client.Options{Scheme: clientgoscheme.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		shared, err := cache.New(server.Config(), cache.Options{Scheme: clientgoscheme.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		config := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "first"}}
		if err := c.Create(ctx, config); err != nil {
			t.Fatal(err)
		}
		go func() { _ = shared.Start(ctx) }()
		var mu sync.Mutex
		var got []string
		began := time.Now()
		err = Follow(ctx, shared, &corev1.ConfigMap{}, func(_ context.Context, e Event[*corev1.ConfigMap]) {
			mu.Lock()
			defer mu.Unlock()
			got = append(got, fmt.Sprintf("%s initial %t deleted %t", e.Latest().Name, e.Initial, e.Deleted()))
		})
		expect := func(want ...string) {
			t.Helper()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
		}
		if expect("first initial true deleted false"); err != nil || time.Since(began) > 0 {
			t.Errorf("Follow took %v: %v", time.Since(began), err)
		}
		synctest.Wait()
		if err := c.Delete(ctx, config); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		expect("first initial true deleted false", "first initial false deleted true")

		ended, end := context.WithCancelCause(ctx)
		cause := errors.New("the connection ended")
		end(cause)
		never, err := cache.New(server.Config(), cache.Options{Scheme: clientgoscheme.Scheme})
		if err != nil {
			t.Fatal(err)
		}
		if err := Follow(ended, never, &corev1.ConfigMap{}, func(context.Context, Event[*corev1.ConfigMap]) {}); !errors.Is(err, cause) {
			t.Errorf("a cache that never starts: %v", err)
		}
	})
}

func denied(code int32, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Code: code, Message: message}}
}

func TestOutcome(t *testing.T) {
	resource := schema.GroupResource{Resource: "things"}
	terminating := apierrors.NewForbidden(resource, "a", errors.New("it is being terminated"))
	terminating.ErrStatus.Details.Causes = append(terminating.ErrStatus.Details.Causes, metav1.StatusCause{Type: corev1.NamespaceTerminatingCause})
	for name, tt := range map[string]struct {
		err             error
		again           time.Duration // at least; at most twice as long
		refused, failed bool
	}{
		"success":                     {},
		"a conflict":                  {err: apierrors.NewConflict(resource, "a", errors.New("changed")), again: outdatedPause},
		"a wrapped conflict":          {err: fmt.Errorf("writing: %w", apierrors.NewConflict(resource, "a", nil)), again: outdatedPause},
		"a quota":                     {err: apierrors.NewForbidden(resource, "a", errors.New("exceeded quota")), again: refusedPause, refused: true},
		"an invalid object":           {err: apierrors.NewInvalid(schema.GroupKind{Kind: "Thing"}, "a", nil), again: refusedPause, refused: true},
		"a policy's 401":              {err: denied(401, "ValidatingAdmissionPolicy 'x' with binding 'y' denied request: no"), again: refusedPause, refused: true},
		"a policy's 413":              {err: denied(413, "no"), again: refusedPause, refused: true},
		"a webhook's 400":             {err: denied(400, `admission webhook "x" denied the request: no`), again: refusedPause, refused: true},
		"a webhook's 409":             {err: denied(409, `admission webhook "x" denied the request: no`), again: refusedPause, refused: true},
		"a webhook that is down":      {err: apierrors.NewInternalError(errors.New(`failed calling webhook "x": EOF`)), again: refusedPause, refused: true},
		"an unknown user":             {err: apierrors.NewUnauthorized("no token"), failed: true},
		"an internal error":           {err: apierrors.NewInternalError(errors.New("etcd is away")), failed: true},
		"too many requests":           {err: apierrors.NewTooManyRequestsError("later"), failed: true},
		"another writer's object":     {err: &TakenError{"Thing", "n", "a"}, again: refusedPause, refused: true},
		"a namespace that terminates": {err: terminating},
		"an API server that is down":  {err: errors.New("connection refused"), failed: true},
		"a deleted CRD":               {err: apierrors.NewNotFound(resource, "a"), failed: true},
	} {
		out := OutcomeOf(tt.err)
		refusal := out.Refusal
		result, err := out.Result("writing %d", 1)
		if out.Done() != (err == nil && result.RequeueAfter == 0) || (out.Failure() != "") != (tt.refused || tt.failed) {
			t.Errorf("%s: done is %t, the failure is %q", name, out.Done(), out.Failure())
		}
		if result.RequeueAfter < tt.again || result.RequeueAfter > 2*tt.again || (refusal != "") != tt.refused || (err != nil) != tt.failed {
			t.Errorf("%s: %v, %q, %v", name, result.RequeueAfter, refusal, err)
		}
		if tt.again > 0 && (result.Priority == nil || *result.Priority != 0) {
			t.Errorf("%s: a request of a first list would starve", name)
		}
	}
}

// A status is written once for several reasons, 100 ms after the first reason, and not during
// the first seconds of a controller.
func TestLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Late[string]
		var order Stages
		if wait := l.Wait("a", false, &order); wait != startDelay {
			t.Errorf("at the start Wait returns %v", wait)
		}
		if wait := l.Wait("new", true, &order); wait != statusDelay {
			t.Errorf("an object without a status waits %v at the start", wait)
		}
		<-time.After(statusDelay)
		if wait := l.Wait("new", true, &order); wait != 0 {
			t.Errorf("after the delay Wait returns %v", wait)
		}
		if wait := l.Wait("new", false, &order); wait != statusDelay {
			t.Errorf("after the first status Wait returns %v at the start", wait)
		}
		<-time.After(startDelay)
		if wait := l.Wait("a", false, &order); wait != 0 {
			t.Errorf("after the start Wait returns %v", wait)
		}
		for passed, want := range []time.Duration{statusDelay, statusDelay / 2, 0} {
			if wait := l.Wait("b", false, &order); wait != want {
				t.Errorf("after %d halves of the delay Wait returns %v, want %v", passed, wait, want)
			}
			if want > 0 {
				<-time.After(statusDelay / 2)
			}
		}
		if wait := l.Wait("b", false, &order); wait != statusDelay {
			t.Errorf("after a write Wait returns %v for the next reason", wait)
		}
	})
}

// An object that already exists is ours and will appear in the cache, or belongs to another
// writer. Create retries with the next event if the object was deleted meanwhile.
func TestCreate(t *testing.T) {
	server := apiserver.New(1)
	c, err := client.New(server.Config(), client.Options{Scheme: clientgoscheme.Scheme})
	if err != nil {
		t.Fatal(err)
	}
	object := func() *corev1.ConfigMap {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
	}
	ours := func(is bool) func(client.Object) bool { return func(client.Object) bool { return is } }
	if err := Create(t.Context(), c, c, object(), ours(true)); err != nil {
		t.Fatal(err)
	}
	if err := Create(t.Context(), c, c, object(), ours(true)); !apierrors.IsConflict(err) {
		t.Errorf("creating our own existing object: %v", err)
	}
	if err := Create(t.Context(), c, c, object(), ours(false)); !errors.As(err, new(*TakenError)) {
		t.Errorf("creating another writer's existing object: %v", err)
	}
	stale := object()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(stale), stale); err != nil {
		t.Fatal(err)
	}
	newer := stale.DeepCopy()
	newer.Data = map[string]string{"a": "b"}
	if err := Update(t.Context(), c, newer); err != nil {
		t.Fatal(err)
	}
	stale.Data = map[string]string{"c": "d"}
	if err := Update(t.Context(), c, stale); !apierrors.IsConflict(err) {
		t.Errorf("an update based on a stale object: %v", err)
	}
	if err := Delete(t.Context(), c, stale); !apierrors.IsConflict(err) {
		t.Errorf("a deletion based on a stale object: %v", err)
	}
	for range 2 {
		if err := Delete(t.Context(), c, newer); err != nil {
			t.Errorf("a deletion: %v", err)
		}
	}
	if err := Update(t.Context(), c, newer); !apierrors.IsConflict(err) {
		t.Errorf("an update of a deleted object: %v", err)
	}
}
