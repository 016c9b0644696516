package metrics

import (
	"strings"

	"github.com/prometheus/client_golang/prometheus"
)

// Condition is a condition of a ServiceExport.
type Condition struct {
	Type, Status string
	// Reason may be several reasons, joined by commas.
	Reason string
}

// Export is a ServiceExport of this cluster.
type Export struct {
	Namespace, Name string
	Conditions      []Condition
}

// Import is a ServiceImport of this cluster, with the number of exporting clusters.
type Import struct {
	Namespace, Name string
	Clusters        int
}

const conflicting = "Conflict"

var (
	exportCondition = prometheus.NewDesc(namespace+"_serviceexport_status_condition",
		"Conditions of the cluster's ServiceExports. The value is 1 for each existing combination of labels.", []string{"namespace", "serviceexport", "condition", "status", "reason"}, nil)
	importClusters = prometheus.NewDesc(namespace+"_serviceimport_status_clusters",
		"Number of clusters that export a service.", []string{"namespace", "serviceimport"}, nil)
	conflictCount = prometheus.NewDesc(namespace+"_conflicts",
		"Number of the cluster's ServiceExports that conflict with exports of other clusters, by reason.", []string{"reason"}, nil)
)

// Objects sets the function that lists this cluster's ServiceExports and ServiceImports. If it fails, they are not
// reported. Objects are listed on collection: they are cached, and following their status would cost more. A reason
// without conflicts is reported as 0.
func (m *Metrics) Objects(reasons []string, list func() ([]Export, []Import, error)) {
	m.objects.set(func(values chan<- prometheus.Metric) {
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
				values <- gauge(exportCondition, 1, e.Namespace, e.Name, c.Type, c.Status, c.Reason)
				if c.Type == conflicting && c.Status == "True" {
					for reason := range strings.SplitSeq(c.Reason, ",") {
						conflicts[reason]++
					}
				}
			}
		}
		for reason, n := range conflicts {
			values <- gauge(conflictCount, float64(n), reason)
		}
		for _, i := range imports {
			values <- gauge(importClusters, float64(i.Clusters), i.Namespace, i.Name)
		}
	})
}
