package lifecycle

import (
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apiwatch "k8s.io/apimachinery/pkg/watch"
)

// A watch that delivers events continues. A watch without any event for too long ends with the
// error that makes an informer list again.
func TestSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		from := apiwatch.NewFake()
		h := newWatchdog(from, time.Minute)
		for range 3 {
			<-time.After(50 * time.Second)
			go from.Action(apiwatch.Bookmark, &corev1.ConfigMap{})
			if e := <-h.ResultChan(); e.Type != apiwatch.Bookmark {
				t.Fatalf("after a bookmark: %v", e)
			}
		}
		began := time.Now()
		e := <-h.ResultChan()
		if !apierrors.IsResourceExpired(apierrors.FromObject(e.Object)) || time.Since(began) != time.Minute {
			t.Fatalf("after %v: %v", time.Since(began), e)
		}
		if _, open := <-h.ResultChan(); open || !from.IsStopped() {
			t.Fatal("the silent watch did not end")
		}
		h.Stop()

		from = apiwatch.NewFake()
		h = newWatchdog(from, time.Minute)
		h.Stop()
		if _, open := <-h.ResultChan(); open || !from.IsStopped() {
			t.Fatal("the watch goes on after Stop")
		}
	})
}
