package planes

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/atoll-mcs/atoll/test/charts"
)

var (
	documentedMetric = regexp.MustCompile("(?m)^\\| `(atoll_\\w+)` \\| (\\w+) \\| (.*?) \\|")
	servedMetric     = regexp.MustCompile(`(?m)^# TYPE (atoll_\w+) (\w+)\n[^{\n ]*(?:\{([^}]*)\})?`)
	documentedLabel  = regexp.MustCompile("`(\\w+)`")
	servedLabel      = regexp.MustCompile(`(\w+)="`)
)

// MetricsDocumented compares the served metrics of agents, or of the hub, with the tables of
// docs/reference/metrics.md.
func MetricsDocumented(t *testing.T, hub bool, text string) {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(charts.Root(), "docs", "reference", "metrics.md"))
	NoError(t, err)
	table, hubs, _ := strings.Cut(string(page), "\n## The hub's\n")
	if hub {
		table = hubs
	}
	documented, served := kinds(table, documentedMetric, documentedLabel), kinds(text, servedMetric, servedLabel)
	if hub { // the hub also serves some metrics that all programs have
		maps.DeleteFunc(served, func(name, _ string) bool { return !strings.HasPrefix(name, "atoll_loadbalancer") })
	}
	if len(documented) == 0 || !maps.Equal(served, documented) {
		t.Errorf("docs/reference/metrics.md has\n%v\nand served are\n%v", documented, served)
	}
}

// kinds returns the types and labels of metrics by name.
func kinds(text string, metric, label *regexp.Regexp) map[string]string {
	all := map[string]string{}
	for _, found := range metric.FindAllStringSubmatch(text, -1) {
		var labels []string
		for _, l := range label.FindAllStringSubmatch(found[3], -1) {
			if l[1] != "le" { // a histogram's own
				labels = append(labels, l[1])
			}
		}
		all[found[1]] = found[2] + " " + strings.Join(slices.Sorted(slices.Values(labels)), ",")
	}
	return all
}
