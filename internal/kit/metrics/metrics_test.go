package metrics

import (
	"errors"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/client-go/rest"
)

// gathered returns the values of metrics that are not zero, by name and labels. For a histogram
// it returns the count.
func gathered(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	stop := m.Serve(registry)
	defer stop()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			key := family.GetName()
			for _, label := range metric.GetLabel() {
				key += "," + label.GetValue()
			}
			value := metric.GetGauge().GetValue() + metric.GetCounter().GetValue() + float64(metric.GetHistogram().GetSampleCount())
			if value != 0 {
				values[key] = value
			}
		}
	}
	return values
}

func expect(t *testing.T, m *Metrics, want map[string]float64) {
	t.Helper()
	if diff := cmp.Diff(want, gathered(t, m)); diff != "" {
		t.Errorf("metrics (-want +got):\n%s", diff)
	}
}

// Objects are counted once, however often they are noted, and the counts of a deleted cluster
// are deleted.
func TestWhatThereIs(t *testing.T) {
	m := New(NewTraffic())
	web := Service{"shop", "web", "c1"}
	want := func(endpoints, slices float64) map[string]float64 {
		return map[string]float64{
			"atoll_endpointslice_num_endpoint_slices,importedslice": slices,
			"atoll_serviceimport_endpoints,c1":                      endpoints,
		}
	}
	for range 2 {
		m.Imported.Note(web, "a", 150, true)
		m.Imported.Note(web, "b", 10, true)
		expect(t, m, want(160, 2))
	}
	m.Imported.Note(web, "b", 20, true)
	expect(t, m, want(170, 2))
	m.Imported.Note(web, "a", 0, false)
	expect(t, m, want(20, 1))
	// A service without endpoints has a series. A deleted service has none.
	m.Imported.Note(Service{"shop", "idle", "c2"}, "i", 0, true)
	if _, found := series(t, m, "atoll_serviceimport_endpoints")["c2"]; !found {
		t.Error("a cluster with a slice and no endpoints has no series")
	}
	m.Imported.Note(web, "b", 0, false)
	m.Imported.Note(Service{"shop", "idle", "c2"}, "i", 0, false)
	m.Imported.Note(Service{"shop", "never", "c3"}, "i", 0, false)
	expect(t, m, map[string]float64{})
	if left := series(t, m, "atoll_serviceimport_endpoints"); len(left) > 0 {
		t.Errorf("deleted clusters still have series: %v", left)
	}
	if len(m.Imported.written)+len(m.Imported.clusters) > 0 {
		t.Errorf("remembered: %v, %v", m.Imported.written, m.Imported.clusters)
	}
}

// The desired endpoints and slices differ from the written ones while writes fail.
func TestWhatIsDesired(t *testing.T) {
	m := New(NewTraffic())
	web := Service{"shop", "web", "c1"}
	m.Imported.Desire(web, "a", 150, true)
	m.Imported.Desire(web, "b", 10, true)
	m.Imported.Desire(web, "b", 20, true)
	m.Imported.Note(web, "a", 150, true)
	expect(t, m, map[string]float64{
		"atoll_endpointslice_endpoints_desired,importedslice":       170,
		"atoll_endpointslice_desired_endpoint_slices,importedslice": 2,
		"atoll_endpointslice_num_endpoint_slices,importedslice":     1,
		"atoll_serviceimport_endpoints,c1":                          150,
	})
	m.Imported.Desire(web, "a", 0, false)
	m.Imported.Desire(web, "b", 0, false)
	m.Imported.Note(web, "a", 0, false)
	expect(t, m, map[string]float64{})
	if len(m.Imported.wanted) > 0 {
		t.Errorf("remembered: %v", m.Imported.wanted)
	}
}

// series returns the values of a metric by its only label.
func series(t *testing.T, m *Metrics, name string) map[string]float64 {
	t.Helper()
	registry := prometheus.NewRegistry()
	defer m.Serve(registry)()
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			if family.GetName() == name {
				found[metric.GetLabel()[0].GetValue()] = metric.GetGauge().GetValue()
			}
		}
	}
	return found
}

func TestWhatWasWritten(t *testing.T) {
	m := New(NewTraffic())
	m.Exported.Wrote(false, true, 3, 0)
	m.Exported.Wrote(true, true, 1, 2)
	m.Exported.Wrote(true, false, 0, 2)
	m.Publish.Observe(0.1)
	expect(t, m, map[string]float64{
		"atoll_endpointslice_endpoints_added_per_sync,exportedslice":   3,
		"atoll_endpointslice_endpoints_removed_per_sync,exportedslice": 3,
		"atoll_endpointslice_changes,exportedslice,create":             1,
		"atoll_endpointslice_changes,exportedslice,update":             1,
		"atoll_endpointslice_changes,exportedslice,delete":             1,
		"atoll_propagation_duration_seconds,publish":                   1,
	})
}

// Several agents in a process can serve metrics, at the same time or one after the other.
func TestServe(t *testing.T) {
	registry := prometheus.NewRegistry()
	first, second := New(NewTraffic()), New(NewTraffic())
	stop := first.Serve(registry)
	second.Serve(registry)()
	if families, err := registry.Gather(); err != nil || len(families) == 0 {
		t.Errorf("the first is not served any more: %v", err)
	}
	stop()
	if families, err := registry.Gather(); err != nil || len(families) > 0 {
		t.Errorf("the first is served still: %v, %v", families, err)
	}
	second.Serve(registry)
	if families, _ := registry.Gather(); len(families) == 0 {
		t.Error("the second is not served after the first")
	}
}

func TestStopwatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var s Stopwatch[string]
		if took, running := s.Stop("a"); running {
			t.Errorf("a stopwatch that was not started measured %v", took)
		}
		s.Start("a")
		<-time.After(time.Second)
		s.Start("a") // a second Start has no effect
		s.Start("b")
		<-time.After(time.Second)
		for key, want := range map[string]time.Duration{"a": 2 * time.Second, "b": time.Second} {
			if took, running := s.Stop(key); !running || took != want {
				t.Errorf("%s: measured %v, running %t", key, took, running)
			}
		}
		if len(s.since) > 0 {
			t.Errorf("remembered: %v", s.since)
		}
	})
}

func TestTrafficIsCounted(t *testing.T) {
	const body = 10000
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write(make([]byte, body))
	}))
	defer server.Close()
	traffic := NewTraffic()
	config := traffic.Count(&rest.Config{Host: server.URL})
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	response, err := c.Get(server.URL + "/" + strings.Repeat("a", 1000))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := io.Copy(io.Discard, response.Body); err != nil {
		t.Fatal(err)
	}
	m := New(traffic)
	got := gathered(t, m)
	if n := got["atoll_broker_bytes_total,received"]; n < body || n > body+1000 {
		t.Errorf("received %v", n)
	}
	if n := got["atoll_broker_bytes_total,sent"]; n < 1000 || n > 2000 {
		t.Errorf("sent %v", n)
	}
	if _, err := config.Dial(t.Context(), "tcp", closedAddress(t)); err == nil {
		t.Error("dialing a closed port returned no error")
	}
}

func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// The metrics of a member report whether it is ready, its last heartbeat, and the number of
// refused parts, even if that is zero.
func TestRemotes(t *testing.T) {
	m := New(NewTraffic())
	m.Remotes(func() map[string]Remote {
		return map[string]Remote{"c2": {Ready: true, OverBudget: true, Renewed: time.UnixMilli(1500)}, "c3": {Renewed: time.Unix(2, 0)}}
	})
	m.LeftOut(func() map[string]int { return map[string]int{"c2": 3, "c3": 0} })
	for name, want := range map[string]map[string]float64{
		"atoll_remote_cluster_ready":                       {"c2": 1, "c3": 0},
		"atoll_remote_cluster_over_budget":                 {"c2": 1, "c3": 0},
		"atoll_remote_cluster_last_sync_timestamp_seconds": {"c2": 1.5, "c3": 2},
		"atoll_import_left_out":                            {"c2": 3, "c3": 0},
	} {
		if diff := cmp.Diff(want, series(t, m, name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// A drain without end ends at +Inf. If the drains cannot be listed, only the roles are reported.
func TestRoles(t *testing.T) {
	m := New(NewTraffic())
	listed := errors.New("not yet")
	m.Roles(func() map[Role]int { return map[Role]int{{"c1", "Standby", "Drained"}: 2} }, func() ([]Drain, error) {
		return []Drain{{Scope: "cluster"}, {Scope: "service", Namespace: "shop", Service: "web", End: time.Unix(1000, 0)}}, listed
	})
	want := map[string]float64{"atoll_serviceimport_roles,Drained,Standby,c1": 2}
	expect(t, m, want)
	listed = nil
	want["atoll_drain_end_timestamp_seconds,,cluster,"], want["atoll_drain_end_timestamp_seconds,shop,service,web"] = math.Inf(1), 1000
	expect(t, m, want)
}

// The metrics report exports and imports by name, and conflicts by reason: every reason of an
// export, and reasons without any conflict.
func TestObjects(t *testing.T) {
	m := New(NewTraffic())
	listed := errors.New("not yet")
	m.Objects([]string{"PortConflict", "TypeConflict", "LabelsConflict"}, func() ([]Export, []Import, error) {
		return []Export{
			{"shop", "web", []Condition{{"Conflict", "True", "PortConflict,TypeConflict"}, {"Ready", "True", "Exported"}}},
			{"shop", "db", []Condition{{"Conflict", "True", "PortConflict"}, {"Valid", "False", "NoService"}}},
			{"shop", "mail", []Condition{{"Conflict", "False", "NoConflicts"}}},
		}, []Import{{"shop", "web", 2}}, listed
	})
	expect(t, m, map[string]float64{}) // a failed list must not be reported as zero objects
	listed = nil
	expect(t, m, map[string]float64{
		"atoll_serviceexport_status_condition,Conflict,shop,PortConflict,TypeConflict,web,True": 1,
		"atoll_serviceexport_status_condition,Ready,shop,Exported,web,True":                     1,
		"atoll_serviceexport_status_condition,Conflict,shop,PortConflict,db,True":               1,
		"atoll_serviceexport_status_condition,Valid,shop,NoService,db,False":                    1,
		"atoll_serviceexport_status_condition,Conflict,shop,NoConflicts,mail,False":             1,
		"atoll_serviceimport_status_clusters,shop,web":                                          2,
		"atoll_conflicts,PortConflict":                                                          2,
		"atoll_conflicts,TypeConflict":                                                          1,
	})
	if none := series(t, m, "atoll_conflicts"); len(none) != 3 {
		t.Errorf("the conflict series are %v", none)
	}
}

func TestConnection(t *testing.T) {
	m := New(NewTraffic())
	expect(t, m, map[string]float64{})
	connected := true
	m.Connection(func() bool { return connected })
	expect(t, m, map[string]float64{"atoll_broker_connected": 1})
	connected = false
	expect(t, m, map[string]float64{})
}

// The build metric has one series, however many programs run in a process.
func TestServeBuild(t *testing.T) {
	registry := prometheus.NewRegistry()
	ServeBuild(registry, "atoll-agent", "v1.2.3")
	ServeBuild(registry, "atoll-agent", "v1.2.3")
	families, err := registry.Gather()
	if err != nil || len(families) != 1 || families[0].GetName() != "atoll_build_info" || families[0].GetMetric()[0].GetGauge().GetValue() != 1 {
		t.Fatalf("%v, %v", families, err)
	}
	labels := map[string]string{}
	for _, l := range families[0].GetMetric()[0].GetLabel() {
		labels[l.GetName()] = l.GetValue()
	}
	if labels["program"] != "atoll-agent" || labels["version"] != "v1.2.3" || labels["goversion"] == "" {
		t.Errorf("%v", labels)
	}
}
