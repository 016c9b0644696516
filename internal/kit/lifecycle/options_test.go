package lifecycle

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// slow is a collector that reports each collection, and ends it when told so.
type slow struct{ begun, end chan struct{} }

func (slow) Describe(chan<- *prometheus.Desc) {}

func (s slow) Collect(chan<- prometheus.Metric) {
	s.begun <- struct{}{}
	<-s.end
}

// While the permitted number of scrapes runs, further ones get a clear error.
func TestScrapesAreLimited(t *testing.T) {
	o := Options(t.Context(), manager.Options{}).Metrics
	var opts promhttp.HandlerOpts
	o.HandlerOpts[0](&opts)
	metrics, registry := slow{make(chan struct{}), make(chan struct{})}, prometheus.NewRegistry()
	registry.MustRegister(metrics)
	filter, err := o.FilterProvider(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	handler, err := filter(logr.Discard(), promhttp.HandlerFor(registry, opts))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	defer server.Close()
	scrape := func() (int, string) {
		response, err := http.Get(server.URL)
		if err != nil {
			return 0, err.Error()
		}
		defer response.Body.Close()
		body, _ := io.ReadAll(response.Body)
		return response.StatusCode, string(body)
	}
	codes := make(chan int)
	for range maxScrapes {
		go func() {
			code, _ := scrape()
			codes <- code
		}()
		<-metrics.begun
	}
	if code, body := scrape(); code != http.StatusServiceUnavailable || !strings.Contains(body, "concurrent") {
		t.Errorf("one more scrape: %d %s", code, body)
	}
	close(metrics.end)
	for range maxScrapes {
		if code := <-codes; code != http.StatusOK {
			t.Errorf("a permitted scrape: %d", code)
		}
	}
}
