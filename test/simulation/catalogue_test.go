package simulation

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
)

// TestCatalogueIsNotFoughtOver has two members take an entry of the catalogue for theirs, because
// one does not hear any more what is exported. They must not undo each other's writes as fast
// as they can.
func TestCatalogueIsNotFoughtOver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	b, onBroker, err := MemoryBroker()
	must(t, err)
	var deaf atomic.Bool
	first, err := Join(t.Context(), b, 1, Options{})
	must(t, err)
	second, err := Join(t.Context(), b, 2, Options{})
	must(t, err)
	t.Cleanup(func() {
		if err := StopAll([]*Member{first, second}); err != nil {
			t.Error(err)
		}
	})
	must(t, second.Stop())
	second.options.Broker = rest.CopyConfig(second.options.Broker)
	second.options.Broker.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/exportedservices") {
				response.Body = deafBody{response.Body, r.Context(), &deaf}
			}
			return response, err
		})
	})
	must(t, second.Start(t.Context()))
	web := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	service := func(m *Member) {
		must(t, m.Client.Create(t.Context(), &corev1.Service{ObjectMeta: web, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}))
	}
	for _, m := range []*Member{first, second} {
		must(t, m.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
		must(t, m.Client.Create(t.Context(), &mcsv1beta1.ServiceExport{ObjectMeta: web}))
	}
	entry := client.ObjectKey{Namespace: broker.DefaultNamespace, Name: "web.shop"}
	service(second)
	eventually(t, "the second has an entry", func(ctx context.Context) error {
		return onBroker.Get(ctx, entry, &mcsv1beta1.ServiceImport{})
	})
	deaf.Store(true)
	service(first) // its export is older
	api := b.(memoryBroker).api
	before := api.Writes()["serviceimports"]
	eventually(t, "both write", func(context.Context) error {
		if n := api.Writes()["serviceimports"] - before; n < 4 {
			return io.ErrNoProgress
		}
		return nil
	})
	before = api.Writes()["serviceimports"]
	began := time.Now()
	<-time.After(2 * time.Second)
	if n, limit := api.Writes()["serviceimports"]-before, 4*int(time.Since(began).Seconds()+2); n > limit {
		t.Errorf("%d writes in %v", n, time.Since(began))
	}
}

// deafBody keeps back what comes after it has become deaf.
type deafBody struct {
	io.ReadCloser
	ctx  context.Context
	deaf *atomic.Bool
}

func (b deafBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.deaf.Load() {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	return n, err
}
