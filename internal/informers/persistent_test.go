package informers

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

// A server that was away for long is asked again soon after it is back.
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
		lw := Persistent(&cache.ListWatch{
			ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) { return &corev1.PodList{}, answer() },
			WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
				return watch.NewFake(), answer()
			},
		})
		if _, err := lw.ListWithContext(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(back); late > 2*lastPause {
			t.Errorf("%v after it was back", late)
		}
		if asked > 2000 {
			t.Errorf("asked %d times in an hour", asked)
		}
		back = time.Now().Add(time.Minute)
		if _, err := lw.WatchWithContext(t.Context(), metav1.ListOptions{}); err != nil {
			t.Fatal(err)
		}
		if late := time.Since(back); late > 2*lastPause {
			t.Errorf("the watch began %v after it was back", late)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		back = time.Now().Add(time.Hour)
		if _, err := lw.ListWithContext(ctx, metav1.ListOptions{}); err == nil || time.Now().After(back) {
			t.Errorf("it goes on after its context is done: %v", err)
		}
	})
}

// What a server says of a request is for who has asked.
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
