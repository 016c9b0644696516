package simulation

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestCatalogueIsNotFoughtOver has two members take an entry of the catalogue for theirs, because
// one does not hear any more what is exported. They must not undo each other's writes as fast
// as they can.
func TestCatalogueIsNotFoughtOver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	t.Parallel()
	b, onBroker, err := MemoryBroker()
	planes.NoError(t, err)
	var deaf atomic.Bool
	first, err := Join(t.Context(), b, 1, Options{})
	planes.NoError(t, err)
	second, err := Join(t.Context(), b, 2, Options{})
	planes.NoError(t, err)
	t.Cleanup(func() {
		if err := StopAll([]*Member{first, second}); err != nil {
			t.Error(err)
		}
	})
	planes.NoError(t, second.Stop())
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
	planes.NoError(t, second.Start(t.Context()))
	service := func(m *Member) {
		planes.Create(t, m.Client, objects.Service("shop", "web", 80))
	}
	for _, m := range []*Member{first, second} {
		planes.Create(t, m.Client, objects.Namespace("shop"), objects.Export("shop", "web"))
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
