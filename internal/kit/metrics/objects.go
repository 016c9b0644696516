package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// Condition is one of a ServiceExport's.
type Condition struct {
	Type, Status string
	// Reason may be several, joined by commas.
	Reason string
}

// Export is a ServiceExport of the own cluster.
type Export struct {
	Namespace, Name string
	Conditions      []Condition
}

// Import is a ServiceImport of the own cluster, and how many clusters export it.
type Import struct {
	Namespace, Name string
	Clusters        int
}

// conflicting is the type of the condition of which conflicts are counted by reason.
const conflicting = "Conflict"

// objects are the own cluster's ServiceExports and ServiceImports. They are gone through when somebody asks, for they are
// there in a cache, and their status would have to be followed otherwise.
type objects struct {
	condition, clusters, conflicts *prometheus.Desc
	mu                             sync.Mutex
	reasons                        []string
	list                           func() ([]Export, []Import, error)
}

func newObjects() *objects {
	return &objects{
		condition: prometheus.NewDesc(namespace+"_serviceexport_status_condition",
			"Conditions of the cluster's ServiceExports, 1 for each that there is.", []string{"namespace", "serviceexport", "condition", "status", "reason"}, nil),
		clusters: prometheus.NewDesc(namespace+"_serviceimport_status_clusters",
			"Number of clusters that export a service.", []string{"namespace", "serviceimport"}, nil),
		conflicts: prometheus.NewDesc(namespace+"_conflicts",
			"Number of the cluster's ServiceExports that are in conflict with others', by reason.", []string{"reason"}, nil),
	}
}

// Objects has ServiceExports and ServiceImports be told when the metrics are collected. Conflicts for these reasons are
// told where there is none, too.
func (m *Metrics) Objects(reasons []string, list func() ([]Export, []Import, error)) {
	m.objects.mu.Lock()
	defer m.objects.mu.Unlock()
	m.objects.reasons, m.objects.list = reasons, list
}

// Describe implements prometheus.Collector.
func (o *objects) Describe(descriptions chan<- *prometheus.Desc) {
	descriptions <- o.condition
	descriptions <- o.clusters
	descriptions <- o.conflicts
}

// Collect implements prometheus.Collector. Nothing is told where the objects can't be listed.
func (o *objects) Collect(values chan<- prometheus.Metric) {
	o.mu.Lock()
	reasons, list := o.reasons, o.list
	o.mu.Unlock()
	if list == nil {
		return
	}
	exports, imports, err := list()
	if err != nil {
		return
	}
	conflicts := map[string]int{}
	for _, reason := range reasons {
		conflicts[reason] = 0
	}
	for _, e := range exports {
		for _, c := range e.Conditions {
			values <- prometheus.MustNewConstMetric(o.condition, prometheus.GaugeValue, 1, e.Namespace, e.Name, c.Type, c.Status, c.Reason)
			if c.Type == conflicting && c.Status == "True" {
				for reason := range strings.SplitSeq(c.Reason, ",") {
					conflicts[reason]++
				}
			}
		}
	}
	for reason, n := range conflicts {
		values <- prometheus.MustNewConstMetric(o.conflicts, prometheus.GaugeValue, float64(n), reason)
	}
	for _, i := range imports {
		values <- prometheus.MustNewConstMetric(o.clusters, prometheus.GaugeValue, float64(i.Clusters), i.Namespace, i.Name)
	}
}
