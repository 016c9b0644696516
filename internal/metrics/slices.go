package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// sliceVectors are KEP-0752's metrics ("Monitoring requirements"), of two controllers.
type sliceVectors struct {
	added, removed       *prometheus.HistogramVec
	desired, have, ideal *prometheus.GaugeVec
	changes              *prometheus.CounterVec
}

func newSliceVectors() sliceVectors {
	const subsystem = "endpointslice"
	label := []string{"controller"}
	histogram := func(name, help string) *prometheus.HistogramVec {
		return prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Namespace: namespace, Subsystem: subsystem, Name: name, Help: help,
			Buckets: prometheus.ExponentialBuckets(2, 2, 15), // as the EndpointSlice controller has them
		}, label)
	}
	gauge := func(name, help string) *prometheus.GaugeVec {
		return prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Subsystem: subsystem, Name: name, Help: help}, label)
	}
	return sliceVectors{
		added:   histogram("endpoints_added_per_sync", "Number of endpoints added by one sync that changed something."),
		removed: histogram("endpoints_removed_per_sync", "Number of endpoints removed by one sync that changed something."),
		desired: gauge("endpoints_desired", "Number of endpoints that there should be."),
		have:    gauge("num_endpoint_slices", "Number of EndpointSlices."),
		ideal:   gauge("desired_endpoint_slices", "Number of EndpointSlices that would do if each held as many endpoints of its source as it may."),
		changes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Namespace: namespace, Subsystem: subsystem, Name: "changes", Help: "Number of writes of EndpointSlices.",
		}, []string{"controller", "operation"}),
	}
}

func (v sliceVectors) collectors() []prometheus.Collector {
	return []prometheus.Collector{v.added, v.removed, v.desired, v.have, v.ideal, v.changes}
}

// of returns the metrics of one controller. byCluster are its endpoints by source
// cluster, nil where all have the same.
func (v sliceVectors) of(controller string, byCluster *prometheus.GaugeVec) *Slices {
	return &Slices{
		added: v.added.WithLabelValues(controller), removed: v.removed.WithLabelValues(controller),
		desired: v.desired.WithLabelValues(controller), have: v.have.WithLabelValues(controller), ideal: v.ideal.WithLabelValues(controller),
		created: v.changes.WithLabelValues(controller, "create"), updated: v.changes.WithLabelValues(controller, "update"),
		deleted:   v.changes.WithLabelValues(controller, "delete"),
		byCluster: byCluster, clusters: map[string]int{}, services: map[Service]map[string]Count{},
	}
}

// Slices are the metrics of the slices that one controller keeps.
type Slices struct {
	added, removed            prometheus.Observer
	desired, have, ideal      prometheus.Gauge
	created, updated, deleted prometheus.Counter
	byCluster                 *prometheus.GaugeVec

	mu       sync.Mutex
	services map[Service]map[string]Count // by the source slice's name
	clusters map[string]int               // how many source slices there are of each
}

// Service is one cluster's part of a service.
type Service struct{ Namespace, Name, Cluster string }

// Count is what is made of one source slice.
type Count struct {
	Endpoints, Slices int
	// Ideal is how few slices would do.
	Ideal int
}

// Sync is what one sync did: a reconciliation that has found something to write.
type Sync struct {
	Added, Removed            int // endpoints
	Created, Updated, Deleted int // slices
}

// Wrote counts a sync that changed something.
func (s *Slices) Wrote(sync Sync) {
	s.added.Observe(float64(sync.Added))
	s.removed.Observe(float64(sync.Removed))
	s.created.Add(float64(sync.Created))
	s.updated.Add(float64(sync.Updated))
	s.deleted.Add(float64(sync.Deleted))
}

// Note notes what there is of a service's part now, by source slice: of the one named, or of
// all where source is "".
func (s *Slices) Note(service Service, source string, counts map[string]Count) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if source != "" {
		s.put(service, source, counts[source])
		return
	}
	for before := range s.services[service] {
		if _, stays := counts[before]; !stays {
			s.put(service, before, Count{})
		}
	}
	for source, count := range counts {
		s.put(service, source, count)
	}
}

// put is called with mu held.
func (s *Slices) put(service Service, source string, now Count) {
	before, found := s.services[service][source]
	s.desired.Add(float64(now.Endpoints - before.Endpoints))
	s.have.Add(float64(now.Slices - before.Slices))
	s.ideal.Add(float64(now.Ideal - before.Ideal))
	there := now.Slices > 0
	switch {
	case there:
		if s.services[service] == nil {
			s.services[service] = map[string]Count{}
		}
		s.services[service][source] = now
	case found:
		delete(s.services[service], source)
		if len(s.services[service]) == 0 {
			delete(s.services, service)
		}
	}
	s.countCluster(service.Cluster, now.Endpoints-before.Endpoints, there, found)
}

// countCluster keeps the endpoints of each source cluster, and none of one that has no
// slices any more.
func (s *Slices) countCluster(cluster string, endpoints int, there, before bool) {
	if s.byCluster == nil {
		return
	}
	s.byCluster.WithLabelValues(cluster).Add(float64(endpoints))
	switch {
	case there && !before:
		s.clusters[cluster]++
	case !there && before:
		s.clusters[cluster]--
	}
	if s.clusters[cluster] == 0 {
		delete(s.clusters, cluster)
		s.byCluster.DeleteLabelValues(cluster)
	}
}
