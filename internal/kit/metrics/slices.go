package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// sliceVectors are KEP-0752's metrics ("Monitoring requirements") for two controllers.
type sliceVectors struct {
	added, removed *prometheus.HistogramVec
	desired, have  *prometheus.GaugeVec
	changes        *prometheus.CounterVec
}

func newSliceVectors() sliceVectors {
	const subsystem = "endpointslice"
	label := []string{"controller"}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(2, 2, 15), // like the EndpointSlice controller
		}, label)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, label)
	}
	return sliceVectors{
		added:   histogram("endpoints_added_per_sync", "Number of endpoints added by one sync that changed EndpointSlices."),
		removed: histogram("endpoints_removed_per_sync", "Number of endpoints removed by one sync that changed EndpointSlices."),
		desired: gauge("endpoints_desired", "Number of desired endpoints."),
		have:    gauge("num_endpoint_slices", "Number of EndpointSlices."),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "changes", Help: "Number of EndpointSlice writes.",
		}, []string{"controller", "operation"}),
	}
}

func (v sliceVectors) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.added, v.removed, v.desired, v.have, v.changes}
}

// of returns one controller's metrics. byCluster are its endpoints by source cluster, nil if there is only one.
func (v sliceVectors) of(controller string, byCluster *prometheus.GaugeVec) *Slices {
	return &Slices{
		added: v.added.WithLabelValues(controller), removed: v.removed.WithLabelValues(controller),
		desired: v.desired.WithLabelValues(controller), have: v.have.WithLabelValues(controller),
		created: v.changes.WithLabelValues(controller, "create"), updated: v.changes.WithLabelValues(controller, "update"),
		deleted:   v.changes.WithLabelValues(controller, "delete"),
		byCluster: byCluster, clusters: map[string]int{}, endpoints: map[sliceOf]int{},
	}
}

// Slices are the metrics of one controller's slices.
type Slices struct {
	added, removed            prometheus.Observer
	desired, have             prometheus.Gauge
	created, updated, deleted prometheus.Counter
	byCluster                 *prometheus.GaugeVec

	mu        sync.Mutex
	endpoints map[sliceOf]int // number of endpoints of each slice
	clusters  map[string]int  // number of slices of each source cluster
}

// Service is one cluster's part of a service.
type Service struct{ Namespace, Name, Cluster string }

// sliceOf identifies a slice by its source slice.
type sliceOf struct {
	Service
	source string
}

// Wrote counts a write of a slice with its added and removed endpoints. had: it existed before. has: it exists now.
func (s *Slices) Wrote(had, has bool, added, removed int) {
	s.added.Observe(float64(added))
	s.removed.Observe(float64(removed))
	switch {
	case !had:
		s.created.Inc()
	case !has:
		s.deleted.Inc()
	default:
		s.updated.Inc()
	}
}

// Note sets the endpoint count of the slice made from source. If there is false, it removes the slice.
func (s *Slices) Note(service Service, source string, endpoints int, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := sliceOf{service, source}
	before, found := s.endpoints[key]
	if !there {
		endpoints = 0
	}
	s.desired.Add(float64(endpoints - before))
	if s.byCluster != nil && (there || found) {
		s.byCluster.WithLabelValues(service.Cluster).Add(float64(endpoints - before))
	}
	switch {
	case there:
		s.endpoints[key] = endpoints
		if !found {
			s.have.Inc()
			s.clusters[service.Cluster]++
		}
	case found:
		delete(s.endpoints, key)
		s.have.Dec()
		if s.clusters[service.Cluster]--; s.clusters[service.Cluster] == 0 {
			delete(s.clusters, service.Cluster)
			if s.byCluster != nil {
				s.byCluster.DeleteLabelValues(service.Cluster) // report no clusters without slices
			}
		}
	}
}
