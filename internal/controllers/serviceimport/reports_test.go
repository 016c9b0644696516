package serviceimport

import "testing"

// What is in the way is said once, and again when it is something else, or was gone.
func TestReports(t *testing.T) {
	var said reports
	for i, step := range []struct {
		inTheWay string
		news     bool
	}{
		{"", false}, {"a", true}, {"a", false}, {"b", true}, {"b", false}, {"a", true}, {"", false}, {"a", true},
	} {
		if got := said.news(web, step.inTheWay); got != step.news {
			t.Errorf("step %d: news is %t", i, got)
		}
	}
}
