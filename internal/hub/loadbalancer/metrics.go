package loadbalancer

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/cloudprovider"
)

// collectTimeout limits one provider's Traffic call.
const collectTimeout = 2 * time.Second

// Values of the label operation.
const (
	opEnsure = "ensure"
	opUpdate = "update"
	opDelete = "delete"
)

// metrics are the hub's load-balancer metrics. docs/reference/metrics.md describes them.
type metrics struct {
	calls                                           *prometheus.HistogramVec
	balancers, backends, connections, taken, failed *prometheus.Desc

	mu    sync.Mutex
	known map[types.NamespacedName]tally
}

// tally is the state of one load balancer.
type tally struct {
	provider                     string
	ready, draining, unreachable int
}

func newMetrics() *metrics {
	describe := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("atoll_"+name, help, append([]string{"provider"}, labels...), nil)
	}
	return &metrics{
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: "atoll", Name: "loadbalancer_call_duration_seconds", Help: "Duration of calls to load-balancer providers.",
			Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10), // 0.1 ms to 26 s
		}, []string{"provider", "operation", "result"}),
		balancers:   describe("loadbalancers", "Number of MultiClusterServices that have a load balancer."),
		backends:    describe("loadbalancer_backends", "Number of backends of all ports of load balancers, by state: in use, draining, or down.", "state"),
		connections: describe("loadbalancer_connections", "Number of open connections of load balancers. For UDP, the number of clients.", "protocol"),
		taken:       describe("loadbalancer_connections_total", "Number of connections that load balancers accepted.", "protocol"),
		failed:      describe("loadbalancer_connections_failed_total", "Number of accepted connections that reached no backend.", "protocol"),
		known:       map[types.NamespacedName]tally{},
	}
}

// called records a call to a provider.
func (m *metrics) called(provider, operation string, began time.Time, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.calls.WithLabelValues(provider, operation, result).Observe(time.Since(began).Seconds())
}

// note records the state of a load balancer.
func (m *metrics) note(name types.NamespacedName, out outcome) {
	t := tally{provider: out.provider}
	for _, port := range out.service.Ports {
		for _, b := range port.Backends {
			switch {
			case slices.Contains(out.unreachable, b.Address):
				t.unreachable++
			case b.Draining:
				t.draining++
			default:
				t.ready++
			}
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.known[name] = t
}

func (m *metrics) forget(name types.NamespacedName) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.known, name)
}

// forgetAll drops everything, when this process no longer serves any load balancer.
func (m *metrics) forgetAll() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.known)
}

// Serve registers the providers' metrics until stop is called. If a process has several hubs, as in tests, only the
// first one is registered.
func (p *Providers) Serve(registry prometheus.Registerer) (stop func()) {
	err := registry.Register(p)
	if errors.As(err, &prometheus.AlreadyRegisteredError{}) {
		return func() {}
	}
	if err != nil {
		panic(err) // duplicate metric names are a bug that any test finds
	}
	return func() { registry.Unregister(p) }
}

// Describe implements prometheus.Collector.
func (p *Providers) Describe(descriptions chan<- *prometheus.Desc) {
	m := p.metrics
	m.calls.Describe(descriptions)
	for _, d := range []*prometheus.Desc{m.balancers, m.backends, m.connections, m.taken, m.failed} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector.
func (p *Providers) Collect(values chan<- prometheus.Metric) {
	m := p.metrics
	m.calls.Collect(values)
	p.mu.Lock()
	made := maps.Clone(p.made)
	p.mu.Unlock()
	m.mu.Lock()
	sums, balancers := map[string]tally{}, map[string]int{}
	for _, t := range m.known {
		sum := sums[t.provider]
		sum.ready, sum.draining, sum.unreachable = sum.ready+t.ready, sum.draining+t.draining, sum.unreachable+t.unreachable
		sums[t.provider] = sum
		balancers[t.provider]++
	}
	m.mu.Unlock()
	gauge := func(d *prometheus.Desc, value int, labels ...string) {
		values <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, float64(value), labels...)
	}
	for name, provider := range made {
		gauge(m.balancers, balancers[name], name)
		gauge(m.backends, sums[name].ready, name, "ready")
		gauge(m.backends, sums[name].draining, name, "draining")
		gauge(m.backends, sums[name].unreachable, name, "unreachable")
		if meter, ok := provider.(cloudprovider.Meter); ok {
			p.collectTraffic(values, name, meter)
		}
	}
}

// collectTraffic skips a provider whose Traffic call fails.
func (p *Providers) collectTraffic(values chan<- prometheus.Metric, name string, meter cloudprovider.Meter) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	var traffic []cloudprovider.Traffic
	err := p.guard(func() (err error) {
		traffic, err = meter.Traffic(ctx)
		return err
	})
	if err != nil {
		return
	}
	for _, t := range traffic {
		protocol := string(t.Protocol)
		values <- prometheus.MustNewConstMetric(p.metrics.connections, prometheus.GaugeValue, float64(t.Open), name, protocol)
		values <- prometheus.MustNewConstMetric(p.metrics.taken, prometheus.CounterValue, float64(t.Taken), name, protocol)
		values <- prometheus.MustNewConstMetric(p.metrics.failed, prometheus.CounterValue, float64(t.Failed), name, protocol)
	}
}
