package bed

import "testing"

func TestMetrics(t *testing.T) {
	m := ParseMetrics(`# HELP a_total Of a.
# TYPE a_total counter
a_total{resource="endpointslices",verb="PUT"} 3
a_total{resource="endpointslices",verb="POST",path="a \"quoted\", {b}"} 4
a_total{resource="leases",verb="PUT"} 1e+02
b_bytes 1.5e+06
nonsense
`)
	for _, tt := range []struct {
		name   string
		labels []string
		want   float64
	}{
		{"a_total", nil, 107},
		{"a_total", []string{"resource", "endpointslices"}, 7},
		{"a_total", []string{"resource", "endpointslices", "verb", "PUT"}, 3},
		{"a_total", []string{"path", `a "quoted", {b}`}, 4},
		{"b_bytes", nil, 1.5e6},
		{"c", nil, 0},
	} {
		if got := m.Sum(tt.name, tt.labels...); got != tt.want {
			t.Errorf("%s %v: got %g, want %g", tt.name, tt.labels, got, tt.want)
		}
	}
}
