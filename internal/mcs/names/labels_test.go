package names

import (
	"strings"
	"testing"
)

func TestClustersLabel(t *testing.T) {
	long := strings.Repeat("x", 60)
	for want, ids := range map[string][]string{
		"":                            nil,
		"c1":                          {"c1"},
		"c1.eu_c-2":                   {"c1.eu", "c-2"},
		"c1_" + long:                  {"c1", long},
		"c1_and_2_more":               {"c1", long, "c2"},
		"2_clusters":                  {long, long + "yyy"},
		"a_b_c_d_e_and_2_more":        {"a", "b", "c", "d", "e", long, long},
		strings.Repeat("x", 60):       {long},
		"a_" + long + "z":             {"a", long + "z"},
		"a_and_1_more":                {"a", long + "zz"},
		strings.Repeat("c_", 5) + "c": {"c", "c", "c", "c", "c", "c"},
	} {
		if got := ClustersLabel(ids); got != want {
			t.Errorf("%v: got %q, want %q", ids, got, want)
		}
	}
}
