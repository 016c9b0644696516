package monitoring

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// read reads a file of the repository.
func read(t *testing.T, path ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(append([]string{"..", ".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// Every alert links to a section of the documentation that has instructions and the current
// rule.
func TestRunbooks(t *testing.T) {
	type file struct {
		Groups []struct {
			Rules []struct {
				Alert, Expr, For    string
				Labels, Annotations map[string]string
			}
		}
	}
	var rules, ofBroker, ofHub file
	for name, into := range map[string]*file{"alerts.yaml": &rules, "broker-alerts.yaml": &ofBroker, "hub-alerts.yaml": &ofHub} {
		if err := yaml.Unmarshal([]byte(read(t, "deploy", "monitoring", name)), into); err != nil {
			t.Fatal(err)
		}
	}
	page, alerts := read(t, "docs", "reference", "alerts.md"), 0
	for _, g := range slices.Concat(rules.Groups, ofBroker.Groups, ofHub.Groups) {
		for _, r := range g.Rules {
			alerts++
			section := "## " + r.Alert + "\n\n*" + r.Labels["severity"] + "*, after " + r.For + " of `" + r.Expr + "`\n\n"
			if !strings.Contains(page, section) {
				t.Errorf("docs/reference/alerts.md has no section that begins with\n%s", section)
			}
			if !strings.HasSuffix(r.Annotations["runbook_url"], "docs/reference/alerts.md#"+strings.ToLower(r.Alert)) || r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s has the annotations %v", r.Alert, r.Annotations)
			}
		}
	}
	if sections := strings.Count(page, "\n## "); alerts < 5 || sections != alerts {
		t.Errorf("there are %d alerts, and %d sections", alerts, sections)
	}
}

// docs/reference/metrics.md documents every Atoll metric in alerts and dashboard.
func TestMetricsAreDocumented(t *testing.T) {
	documented := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(atoll_\\w+)` ").FindAllStringSubmatch(read(t, "docs", "reference", "metrics.md"), -1) {
		documented[row[1]] = true
	}
	for _, file := range []string{"alerts.yaml", "hub-alerts.yaml", "dashboard.json"} {
		found := regexp.MustCompile(`\batoll_\w+`).FindAllString(read(t, "deploy", "monitoring", file), -1)
		for _, metric := range found {
			if !documented[metric] && !documented[strings.TrimSuffix(strings.TrimSuffix(metric, "_bucket"), "_count")] {
				t.Errorf("%s: docs/reference/metrics.md has no %s", file, metric)
			}
		}
		if len(found) < 5 {
			t.Errorf("%s uses only the metrics %v", file, found)
		}
	}
}
