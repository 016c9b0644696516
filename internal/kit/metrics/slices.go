package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// sliceVectors are KEP-0752's metrics ("Monitoring requirements") for two controllers.
type sliceVectors struct {
	added, removed *prometheus.HistogramVec
	// desired are endpoints, desiredSlices and have slices.
	desired, desiredSlices, have *prometheus.GaugeVec
	changes                      *prometheus.CounterVec
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
		added:         histogram("endpoints_added_per_sync", "Number of endpoints added by one sync that changed EndpointSlices."),
		removed:       histogram("endpoints_removed_per_sync", "Number of endpoints removed by one sync that changed EndpointSlices."),
		desired:       gauge("endpoints_desired", "Number of desired endpoints."),
		desiredSlices: gauge("desired_endpoint_slices", "Number of desired EndpointSlices."),
		have:          gauge("num_endpoint_slices", "Number of EndpointSlices."),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "changes", Help: "Number of EndpointSlice writes.",
		}, []string{"controller", "operation"}),
	}
}

func (v sliceVectors) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.added, v.removed, v.desired, v.desiredSlices, v.have, v.changes}
}

// of returns one controller's metrics. byCluster are its endpoints by source cluster, nil if there is only one.
func (v sliceVectors) of(controller string, byCluster *prometheus.GaugeVec) *Slices {
	return &Slices{
		added: v.added.WithLabelValues(controller), removed: v.removed.WithLabelValues(controller),
		desired: v.desired.WithLabelValues(controller), desiredSlices: v.desiredSlices.WithLabelValues(controller), have: v.have.WithLabelValues(controller),
		created: v.changes.WithLabelValues(controller, "create"), updated: v.changes.WithLabelValues(controller, "update"),
		deleted:   v.changes.WithLabelValues(controller, "delete"),
		byCluster: byCluster, clusters: map[string]int{}, wanted: counts{}, written: counts{},
	}
}

// Slices are the metrics of one controller's slices.
type Slices struct {
	added, removed               prometheus.Observer
	desired, desiredSlices, have prometheus.Gauge
	created, updated, deleted    prometheus.Counter
	byCluster                    *prometheus.GaugeVec

	mu              sync.Mutex
	wanted, written counts
	clusters        map[string]int // number of slices of each source cluster
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

// Desire sets the endpoint count that the slice made from source should have. If there is false, no slice should exist.
func (s *Slices) Desire(service Service, source string, endpoints int, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	more, slices := s.wanted.set(sliceOf{service, source}, endpoints, there)
	s.desired.Add(float64(more))
	s.desiredSlices.Add(float64(slices))
}

// Note sets the endpoint count of the slice made from source. If there is false, it removes the slice.
func (s *Slices) Note(service Service, source string, endpoints int, there bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	more, slices := s.written.set(sliceOf{service, source}, endpoints, there)
	s.have.Add(float64(slices))
	if s.byCluster == nil || !there && slices == 0 {
		return
	}
	s.byCluster.WithLabelValues(service.Cluster).Add(float64(more))
	if s.clusters[service.Cluster] += slices; s.clusters[service.Cluster] == 0 {
		delete(s.clusters, service.Cluster)
		s.byCluster.DeleteLabelValues(service.Cluster) // report no clusters without slices
	}
}

// counts are the endpoint counts of slices.
type counts map[sliceOf]int

// set replaces a slice's count, or removes the slice, and returns how many endpoints and slices that adds.
func (c counts) set(key sliceOf, endpoints int, there bool) (more, slices int) {
	before, found := c[key]
	switch {
	case there:
		c[key] = endpoints
		if !found {
			slices = 1
		}
		return endpoints - before, slices
	case found:
		delete(c, key)
		return -before, -1
	}
	return 0, 0
}
