package clusterset

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// metricValue returns the current value of a metric with this label: of a gauge or counter, or the
// count and sum of a histogram.
func metricValue(t *testing.T, name, label string) (count, sum float64) {
	t.Helper()
	families, err := prometheus.DefaultGatherer.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		if family.GetName() != "coredns_clusterset_"+name {
			continue
		}
		for _, m := range family.GetMetric() {
			if m.GetLabel()[0].GetValue() == label {
				h := m.GetHistogram()
				return m.GetGauge().GetValue() + m.GetCounter().GetValue() + float64(h.GetSampleCount()), h.GetSampleSum()
			}
		}
	}
	return 0, 0
}

func TestMetrics(t *testing.T) {
	f := newFixture("metrics.example.", "10.in-addr.arpa.").with()
	pets := headless("shop", "pets", "http")
	web := vip("shop", "web", "10.42.42.42")
	f.imports.Add(pets)
	f.imports.Add(web)
	f.slices.Add(slice(pets, "c1", "pets", "10.0.0.1", "10.0.0.2"))
	f.slices.Add(slice(web, "c1", "web", "10.0.0.3"))
	all, _ := f.known.take()
	f.apply(all.services)
	f.observe(all, time.Now())
	const label = "metrics.example. 10.in-addr.arpa."
	for name, want := range map[string]float64{
		"service_imports":         2,
		"endpoint_slices":         2,
		"endpoint_addresses":      3,
		"service_updates_total":   2,
		"update_duration_seconds": 1,
	} {
		if got, _ := metricValue(t, name, label); got != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
	f.slices.Delete(slice(pets, "c1", "pets"))
	f.imports.Delete(web)
	all, _ = f.known.take()
	if all.size != (size{imports: 1, slices: 1, addresses: 1}) {
		t.Errorf("got %+v", all.size)
	}
}

// The manual documents all metrics.
func TestManualHasAllMetrics(t *testing.T) {
	manual, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`"(coredns_clusterset_[a-z_]+)".*variableLabels: \{(.*?)\}`)
	for _, c := range []prometheus.Collector{importCount, sliceCount, endpointCount, updateCount, updateDuration, programmingDuration} {
		described := make(chan *prometheus.Desc, 1)
		c.Describe(described)
		found := name.FindStringSubmatch((<-described).String())
		if found == nil || !strings.Contains(string(manual), "* `"+found[1]+"{"+found[2]+"}` - ") {
			t.Errorf("the manual does not know %q", found)
		}
	}
}

// The programming duration of a change of endpoints starts at the slice's trigger time. Each
// change is measured once.
func TestProgrammingDuration(t *testing.T) {
	f := newFixture(testZone).with()
	pets := headless("shop", "pets", "http")
	web := vip("shop", "web", "10.42.42.42")
	f.imports.Add(pets)
	f.imports.Add(web)
	at := func(trigger string, ips ...string) any {
		s := slice(pets, "c1", "pets", ips...)
		if trigger != "" {
			s.Annotations = map[string]string{names.AnnotationLastChangeTriggerTime: trigger}
		}
		return s
	}
	minute := func(n int) string {
		return time.Now().Add(-time.Duration(n) * time.Minute).UTC().Format(time.RFC3339Nano)
	}
	step := func(what string, change func(), want int) {
		t.Helper()
		change()
		if all, _ := f.known.take(); len(all.triggers) != want {
			t.Errorf("%s: %d measured, want %d", what, len(all.triggers), want)
		}
	}
	hour, now := minute(60), minute(1)
	step("a slice of a service that was exported just now", func() { f.slices.Add(at(hour, "10.0.0.1")) }, 0)
	step("another trigger without a change", func() { f.slices.Update(at(now, "10.0.0.1")) }, 0)
	step("a change", func() { f.slices.Update(at(now, "10.0.0.2")) }, 1)
	step("a change without another trigger", func() { f.slices.Update(at(now, "10.0.0.3")) }, 0)
	step("a change without a trigger", func() { f.slices.Update(at("", "10.0.0.4")) }, 0)
	step("no time", func() { f.slices.Update(at("yesterday", "10.0.0.5")) }, 0)
	step("what a list brings", func() { f.slices.Replace([]any{at(minute(2), "10.0.0.6")}, "") }, 0)
	step("an endpoint of a service that answers with its IP", func() {
		for i, ip := range []string{"10.0.0.8", "10.0.0.9"} {
			s := slice(web, "c1", "web", ip)
			s.Annotations = map[string]string{names.AnnotationLastChangeTriggerTime: minute(i)}
			f.slices.Update(s)
		}
	}, 0)

	count, sum := metricValue(t, "programming_duration_seconds", headlessKind)
	f.observe(changes{triggers: []time.Time{time.Now().Add(-90 * time.Second)}}, time.Now())
	newCount, newSum := metricValue(t, "programming_duration_seconds", headlessKind)
	if took := newSum - sum; newCount != count+1 || took < 90 || took > 120 {
		t.Errorf("%v observed, %v s", newCount-count, took)
	}
}
