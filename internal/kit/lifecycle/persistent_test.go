package lifecycle

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
)

// After a long outage, a client retries soon after the server is back.
func TestAServerThatIsBackIsAskedSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		back := time.Now().Add(time.Hour)
		asked := 0
		answer := func() error {
			if asked++; time.Now().Before(back) {
				return errors.New("connection refused")
			}
			return nil
		}
		lw := persistent(&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, answer() },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.NewFake(), answer()
			},
		}, one)
		if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(back); late > 2*longestPause {
			t.Errorf("the request succeeded %v after the server was back", late)
		}
		if asked > 2000 {
			t.Errorf("asked %d times in an hour", asked)
		}
		back = time.Now().Add(time.Minute)
		w, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		w.Stop()
		if late := time.Since(back); late > 2*longestPause {
			t.Errorf("the watch began %v after the server was back", late)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		back = time.Now().Add(time.Hour)
		if _, err := lw.ListWithContext(ctx, metav1.ListOptions{}); err == nil || time.Now().After(back) {
			t.Errorf("the list goes on after its context is done: %v", err)
		}
	})
}

// Many informers wait for an API server for a long time, for changing reasons. Each reason is
// logged once, with a fix, and the end of the outage is logged once.
func TestAnAbsenceIsLoggedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var lines []string
		ctx := klog.NewContext(t.Context(), funcr.New(func(_, line string) {
			mu.Lock()
			defer mu.Unlock()
			lines = append(lines, line)
		}, funcr.Options{}))
		began := time.Now()
		answer := func() error {
			switch since := time.Since(began); {
			case since < time.Minute:
				return &url.Error{Op: "Get", URL: "https://broker.test:6443/api?watch=true", Err: errors.New("connection refused")}
			case since < 2*time.Minute:
				return &url.Error{Op: "Get", URL: "https://broker.test:6443/api", Err: &tls.CertificateVerificationError{Err: errors.New("unknown authority")}}
			case since < 3*time.Minute:
				return apierrors.NewUnauthorized("")
			case since < 4*time.Minute:
				return apierrors.NewNotFound(schema.GroupResource{}, "")
			case since < 5*time.Minute:
				return apierrors.NewServiceUnavailable("")
			case since < 6*time.Minute:
				return errors.New("no JSON")
			}
			return nil
		}
		var copies sync.WaitGroup
		for range 100 {
			copies.Go(func() {
				if _, err := persist(ctx, one, func() (any, error) { return nil, answer() }); err != nil {
					t.Error(err)
				}
			})
		}
		copies.Wait()
		wants := []string{unreached, distrusted, unaccepted, unserved, busy, strange, "answers again"}
		if len(lines) != len(wants) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(wants), strings.Join(lines, "\n"))
		}
		for i, want := range wants {
			if !strings.Contains(lines[i], want) {
				t.Errorf("line %d: %s, want: %s", i, lines[i], want)
			}
		}
		// An error about the request itself is returned to the caller, and a canceled context
		// is not an error of the server.
		ended, cancel := context.WithCancel(ctx)
		lines = nil
		began = time.Now()
		cancel()
		if _, err := persist(ended, one, func() (any, error) { return nil, answer() }); err == nil {
			t.Error("no error")
		}
		if _, err := persist(ctx, one, func() (any, error) { return nil, apierrors.NewBadRequest("") }); err == nil {
			t.Error("no error")
		}
		if len(lines) > 0 || len(reported.of) > 0 {
			t.Errorf("logged: %q, remembered: %v", lines, reported.of)
		}
	})
}

// An error about the request itself does not mean that the server is down.
func TestAway(t *testing.T) {
	tooNew := apierrors.NewTimeoutError("Too large resource version", 1)
	tooNew.ErrStatus.Details = &metav1.StatusDetails{Causes: []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}}
	for want, all := range map[bool][]error{
		true: {
			errors.New("connection refused"), fmt.Errorf("listing: %w", apierrors.NewServiceUnavailable("")), apierrors.NewInternalError(errors.New("etcd")),
			apierrors.NewTooManyRequestsError(""), apierrors.NewTimeoutError("", 0), apierrors.NewUnauthorized(""),
			apierrors.NewNotFound(schema.GroupResource{}, ""),
		},
		false: {
			tooNew, apierrors.NewResourceExpired(""), apierrors.NewBadRequest(""),
			apierrors.NewForbidden(schema.GroupResource{}, "", nil), &meta.NoKindMatchError{},
		},
	} {
		for _, err := range all {
			if away(err) != want {
				t.Errorf("%v: %t", err, !want)
			}
		}
	}
}

func one() int { return 1 }

// The clients of a server that is back read everything again over a time that grows with their number: no second has much more than
// its part of 500.
func TestClientsComeBackSpread(t *testing.T) {
	const outage = time.Minute
	for n, longest := range map[int]time.Duration{1: 2 * longestPause, 500: 500 * 2 * pauseOfClient} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			var mu sync.Mutex
			var last time.Duration
			perSecond := map[int]int{}
			var clients sync.WaitGroup
			for range 500 {
				clients.Go(func() {
					_, _ = persist(t.Context(), func() int { return n }, func() (any, error) {
						if time.Since(begun) < outage {
							return nil, apierrors.NewServiceUnavailable("")
						}
						return nil, nil
					})
					back := time.Since(begun) - outage
					mu.Lock()
					defer mu.Unlock()
					last = max(last, back)
					perSecond[int(back/time.Second)]++
				})
			}
			clients.Wait()
			if last > longest || last < longest*3/4 {
				t.Errorf("%d clients: the last is back after %v, want about %v", n, last, longest)
			}
			for second, came := range perSecond {
				if want := 500 / int(longest/time.Second); came > 2*want+20 {
					t.Errorf("%d clients: %d of 500 come in second %d, want about %d", n, came, second, want)
				}
			}
		})
	}
}
