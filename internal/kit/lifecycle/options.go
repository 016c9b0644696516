package lifecycle

import (
	"context"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/atoll-mcs/atoll/internal/kit"
)

const (
	// maxScrapes limits the scrapes at the same time, because each holds all metrics in memory: two Prometheus servers, each with a
	// scrape that it gave up, and somebody who looks. Others get status 503.
	maxScrapes = 5
	// maxScrape is how long one scrape may take: else a client that does not read would keep a place for ever.
	maxScrape = 30 * time.Second
)

// boundScrapes limits how long a scrape takes.
func boundScrapes(*rest.Config, *http.Client) (metricsserver.Filter, error) {
	return func(_ logr.Logger, next http.Handler) (http.Handler, error) {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(maxScrape)) // an HTTP server's connections have deadlines
			next.ServeHTTP(w, r)
		}), nil
	}, nil
}

// Options adds the options that all our programs share to those of a term's manager. The program ends when ctx is done.
func Options(ctx context.Context, o manager.Options) manager.Options {
	o.LeaderElectionReleaseOnCancel = true
	o.LeaseDuration = ptr.To(LeaseDuration)
	o.RenewDeadline = ptr.To(RenewDeadline)
	o.RetryPeriod = ptr.To(RetryPeriod)
	o.HealthProbeBindAddress = "0" // Health answers instead, and outlives the manager
	o.NewCache = newCache(ctx)
	o.Cache.DefaultTransform = kit.Trim
	o.Cache.NewInformer = NewInformer
	o.Metrics.HandlerOpts = []func(*promhttp.HandlerOpts){func(h *promhttp.HandlerOpts) { h.MaxRequestsInFlight = maxScrapes }}
	o.Metrics.FilterProvider = boundScrapes
	// Successive terms, and several programs in a test process, reuse controller names.
	o.Controller = config.Controller{SkipNameValidation: ptr.To(true)}
	return o
}
