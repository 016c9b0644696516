package clusterset

import (
	"bytes"
	"context"
	"errors"
	"log"
	"net/url"
	"strings"
	"testing"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// Many identical failures are logged once.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	log.SetOutput(&out)
	defer clog.Discard()
	var result error
	r := report(&cache.ListWatch{
		ListWithContextFunc: func(context.Context, metav1.ListOptions) (runtime.Object, error) {
			return &mcsv1beta1.ServiceImportList{}, result
		},
		WatchFuncWithContext: func(context.Context, metav1.ListOptions) (watch.Interface, error) {
			return watch.NewFake(), result
		},
	}, "ServiceImports")
	refused, forbidden := errors.New("refused"), errors.New("forbidden")
	again := &url.Error{Op: "Get", URL: "https://c1/?timeoutSeconds=1", Err: refused}
	ctx := context.Background()
	for _, result = range []error{nil, refused, again, refused, forbidden, forbidden, nil, nil} {
		r.ListWithContext(ctx, metav1.ListOptions{})
		r.WatchWithContext(ctx, metav1.ListOptions{})
	}
	// Lists are allowed and watches are forbidden: the failure persists, and no recovery is
	// logged.
	for range 3 {
		result = nil
		r.ListWithContext(ctx, metav1.ListOptions{})
		result = forbidden
		r.WatchWithContext(ctx, metav1.ListOptions{})
	}
	stopped, cancel := context.WithCancel(context.Background())
	cancel()
	result = refused
	r.ListWithContext(stopped, metav1.ListOptions{})

	want := []string{
		"[ERROR] plugin/clusterset: Reading ServiceImports failed: refused. DNS answers do not change until reading works again",
		"[ERROR] plugin/clusterset: Reading ServiceImports failed: forbidden. DNS answers do not change until reading works again",
		"[INFO] plugin/clusterset: Reading ServiceImports works again",
		"[ERROR] plugin/clusterset: Reading ServiceImports failed: forbidden. DNS answers do not change until reading works again",
	}
	got := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(got) != len(want) {
		t.Fatalf("got %q", got)
	}
	for i := range want {
		if !strings.HasSuffix(got[i], want[i]) {
			t.Errorf("line %d: got %q, want %q", i, got[i], want[i])
		}
	}
}
