package integration

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// measuredAgent restarts a cluster's agent with a metrics address, optionally with TLS, and
// returns the URL of the metrics.
func measuredAgent(t *testing.T, cluster string, secure bool) string {
	t.Helper()
	ports, err := lab.FreePorts(1)
	noError(t, err)
	address := ports[0].String()
	restarted(t, cluster, func(args []string) []string {
		return append(args, "--metrics-bind-address="+address, fmt.Sprintf("--metrics-tls=%t", secure))
	})
	if secure {
		return "https://" + address + "/metrics"
	}
	return "http://" + address + "/metrics"
}

// scraper accepts any certificate, because the agent's certificate is self-signed.
var scraper = &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}

// metricsAt returns an agent's metrics as soon as the agent is the leader.
func metricsAt(t *testing.T, url string) string {
	t.Helper()
	var text []byte
	eventually(t, "reading "+url, func() error {
		response, err := scraper.Get(url)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		text, err = io.ReadAll(response.Body)
		return err
	})
	return string(text)
}

// noneIsGoing returns nil if no namespace of a cluster is being deleted.
func noneIsGoing(t *testing.T, cluster string) error {
	list := &corev1.NamespaceList{}
	if err := on[cluster].List(t.Context(), list); err != nil {
		return err
	}
	for _, n := range list.Items {
		if n.DeletionTimestamp != nil {
			return fmt.Errorf("namespace %s is being deleted in %s", n.Name, cluster)
		}
	}
	return nil
}

// If another writer changes objects of c1 on the broker, c1's agent restores them and counts the changes. It counts none of
// its own, nor what its predecessor left.
func TestForeignWrites(t *testing.T) {
	const ns = "foreign-writes"
	namespace(t, ns, "c1", "c2")
	share(t, "c1", ns, "web", "10.1.1.1")
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	url := measuredAgent(t, "c1", false)
	counted := func() int { return int(bed.ParseMetrics(metricsAt(t, url)).Sum("atoll_foreign_writes_total")) }
	for i := range 20 {
		change(t, "c1", slice(ns, "web-x", "web"), func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Addresses = []string{fmt.Sprintf("10.1.1.%d", 10+i)}
		})
		change(t, "c1", service(ns, "web", 80), func(s *corev1.Service) { s.Spec.Ports[0].Port = int32(80 + i) })
	}
	expectAddresses(t, "c2", ns, "c1/10.1.1.29")
	record, published := objects.Record("c1", ns, "web"), objects.Published("c1", ns, "web-x", "web")
	restored := func(what string) {
		planes.Until(t, what+": the record is restored", on[lab.Broker], record, func() error {
			if record.Spec.Ports[0].Port != 99 || record.Annotations[names.AnnotationState] != "" {
				return fmt.Errorf("it is %+v", record)
			}
			return nil
		})
		planes.Until(t, what+": the slice is restored", on[lab.Broker], published, func() error {
			if len(published.Endpoints) != 1 || published.Endpoints[0].Addresses[0] != "10.1.1.29" {
				return fmt.Errorf("it is %+v", published)
			}
			return nil
		})
	}
	restored("this cluster's changes")
	if n := counted(); n != 0 {
		t.Errorf("%d foreign writes before there is one", n)
	}
	for i, edit := range []struct {
		what string
		do   func()
	}{
		{"another port", func() {
			change(t, lab.Broker, record, func(e *brokerv1alpha1.ExportedService) { e.Spec.Ports[0].Port = 8080 })
		}},
		{"a withdrawal", func() {
			change(t, lab.Broker, record, func(e *brokerv1alpha1.ExportedService) { e.Annotations[names.AnnotationState] = names.StateWithdrawn })
		}},
		{"another address", func() {
			change(t, lab.Broker, published, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.9.9.9"} })
		}},
	} {
		edit.do()
		eventually(t, edit.what+" is counted", func() error {
			if n := counted(); n != i+1 {
				return fmt.Errorf("%d foreign writes are counted, not %d", n, i+1)
			}
			return nil
		})
		restored(edit.what)
	}
}

// TestMetrics follows a service's endpoints from c1 to c2 in the metrics of both agents.
func TestMetrics(t *testing.T) {
	const ns = "metrics"
	for _, cluster := range []string{"c1", "c2"} {
		eventually(t, "namespaces of earlier tests are deleted", func() error { return noneIsGoing(t, cluster) })
	}
	at := map[string]string{"c1": measuredAgent(t, "c1", false), "c2": measuredAgent(t, "c2", true)}
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "first", 80), export(ns, "first"))
	expectImport(t, "c1,c2", ns, "first", from("c1"))
	before := map[string]bed.Metrics{}
	for cluster, url := range at {
		before[cluster] = bed.ParseMetrics(metricsAt(t, url))
	}
	grown := func(what string, want map[string]float64) {
		t.Helper()
		eventually(t, what, func() error {
			for _, key := range slices.Sorted(maps.Keys(want)) {
				parts := strings.Split(key, " ")
				cluster, name, labels := parts[0], "atoll_"+parts[1], parts[2:]
				now := bed.ParseMetrics(metricsAt(t, at[cluster]))
				if got := now.Sum(name, labels...) - before[cluster].Sum(name, labels...); got != want[key] {
					return fmt.Errorf("%s has grown by %v, not %v", key, got, want[key])
				}
			}
			return nil
		})
	}
	create(t, "c1", service(ns, "web", 80))
	source := slice(ns, "web-x", "web", "12.1.1.1", "12.1.1.2")
	source.Annotations = map[string]string{names.AnnotationLastChangeTriggerTime: time.Now().Add(-72 * time.Hour).UTC().Format(time.RFC3339Nano)} // an old Service
	create(t, "c1", source)
	e := export(ns, "web")
	create(t, "c1", e)
	expectAddresses(t, "c2", ns, "c1/12.1.1.1", "c1/12.1.1.2")
	change(t, "c1", source, func(s *discoveryv1.EndpointSlice) {
		s.Annotations = map[string]string{names.AnnotationLastChangeTriggerTime: time.Now().UTC().Format(time.RFC3339Nano)}
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"12.1.1.3"}})
	})
	expectAddresses(t, "c2", ns, "c1/12.1.1.1", "c1/12.1.1.2", "c1/12.1.1.3")
	const exported, imported = "controller exportedslice", "controller importedslice"
	grown("metrics of an import", map[string]float64{
		"c1 endpointslice_endpoints_desired " + exported:        3,
		"c1 endpointslice_num_endpoint_slices " + exported:      1,
		"c1 endpointslice_changes operation create " + exported: 1, "c1 endpointslice_changes operation update " + exported: 1,
		"c1 endpointslice_endpoints_added_per_sync_count " + exported:        2,
		"c1 endpointslice_endpoints_added_per_sync_sum " + exported:          3,
		"c1 endpointslice_endpoints_removed_per_sync_sum " + exported:        0,
		"c1 serviceimport_endpoints source_cluster c1":                       3, // its own import
		"c2 endpointslice_endpoints_desired " + imported:                     3,
		"c2 endpointslice_desired_endpoint_slices " + imported:               1,
		"c2 endpointslice_num_endpoint_slices " + imported:                   1,
		"c2 endpointslice_changes operation create " + imported:              1,
		"c2 endpointslice_changes operation update " + imported:              1,
		"c2 endpointslice_endpoints_added_per_sync_sum " + imported:          3,
		"c2 serviceimport_endpoints source_cluster c1":                       3,
		"c2 serviceimport_addresses source_cluster c1":                       1,
		"c2 propagation_duration_seconds_count stage total":                  1,
		"c1 endpointslice_changes operation delete controller exportedslice": 0,
	})
	for cluster, stages := range map[string][]string{"c1": {"publish", "broker"}, "c2": {"import", "total"}} {
		for _, stage := range stages {
			eventually(t, "stage "+stage, func() error {
				const name = "atoll_propagation_duration_seconds_"
				now := bed.ParseMetrics(metricsAt(t, at[cluster]))
				count, sum := now.Sum(name+"count", "stage", stage), now.Sum(name+"sum", "stage", stage)
				if count <= before[cluster].Sum(name+"count", "stage", stage) || sum <= 0 || sum/count > patience.Seconds() {
					return fmt.Errorf("%v s in %v changes", sum, count)
				}
				return nil
			})
		}
		now := bed.ParseMetrics(metricsAt(t, at[cluster]))
		for _, direction := range []string{"sent", "received"} {
			if n := now.Sum("atoll_broker_bytes_total", "direction", direction); n < 1000 {
				t.Errorf("%s has %s %v bytes", cluster, direction, n)
			}
		}
	}
	now := bed.ParseMetrics(metricsAt(t, at["c1"]))
	for name, want := range map[string]float64{
		"atoll_serviceexport_status_condition namespace metrics serviceexport web condition Ready status True reason Exported": 1,
		"atoll_serviceimport_status_clusters namespace metrics serviceimport web":                                              1,
		"atoll_broker_connected": 1, "atoll_broker_isolated": 1, "atoll_build_info program atoll-agent": 1,
	} {
		parts := strings.Fields(name)
		if got := now.Sum(parts[0], parts[1:]...); got != want {
			t.Errorf("%s is %v", name, got)
		}
	}
	if used := now.Sum("atoll_service_range_used_ratio", "ip_family", "IPv4"); used <= 0 || used >= 1 {
		t.Errorf("%v of the Service range is in use", used)
	}
	if ready := now.Sum("atoll_remote_cluster_ready", "remote_cluster", "c2"); ready != 1 {
		t.Errorf("c2 is ready by %v", ready)
	}
	age := time.Since(time.UnixMilli(int64(1000 * now.Sum("atoll_remote_cluster_last_sync_timestamp_seconds", "remote_cluster", "c2"))))
	if age < 0 || age > patience {
		t.Errorf("the last of c2 was seen %v ago", age)
	}
	planes.Change(t, on["c1"], e, func(e *mcsv1beta1.ServiceExport) { e.Annotations = map[string]string{names.AnnotationDrained: "true"} })
	for cluster, metric := range map[string]string{"c1": "atoll_drain_end_timestamp_seconds", "c2": "atoll_serviceimport_roles"} {
		eventually(t, metric, func() error {
			if text := metricsAt(t, at[cluster]); !strings.Contains(text, "\n"+metric+"{") {
				return errors.New("it is not served")
			}
			return nil
		})
	}
	planes.MetricsDocumented(t, false, metricsAt(t, at["c1"])+metricsAt(t, at["c2"]))

	remove(t, "c1", e)
	expectAddresses(t, "c2", ns)
	grown("metrics after the end of the export", map[string]float64{
		"c1 endpointslice_endpoints_desired " + exported:        0,
		"c1 endpointslice_changes operation delete " + exported: 1,
		"c1 serviceimport_endpoints source_cluster c1":          0,
		"c2 endpointslice_num_endpoint_slices " + imported:      0,
		"c2 serviceimport_endpoints source_cluster c1":          0,
	})
}
