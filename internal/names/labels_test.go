package names

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
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

func TestClustersLabelIsALabelValue(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.SliceOf(rapid.StringMatching(`[a-z0-9]([-a-z0-9]{0,30}[a-z0-9])?(\.[a-z0-9]{1,20})?`)).Draw(t, "ids")
		value := ClustersLabel(ids)
		if len(value) > 63 || strings.Trim(value, "_-.") != value {
			t.Fatalf("%q can't be a label's value", value)
		}
	})
}
