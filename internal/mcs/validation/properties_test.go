package validation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

func TestPropertyProblem(t *testing.T) {
	for _, tt := range []struct{ name, value, want string }{
		{"cluster.clusterset.k8s.io", "c1", ""},
		{"example.com/region", "eu north (Zürich)", ""},
		{"region", strings.Repeat("x", MaxPropertyValue), ""},
		{"region", strings.Repeat("x", MaxPropertyValue+1), "more than 256 bytes"},
		{"region", strings.Repeat("ü", MaxPropertyValue/2+1), "more than 256 bytes"},
		{"region", "", "empty"},
		{"region", "a\nb", "cannot be printed"},
		{"region", "a\x1b[31m", "cannot be printed"},
		{"region", "a\u202eb", "cannot be printed"}, // changes the direction of text
		{"region", "a\xffb", "cannot be printed"},
		{"", "x", "the name is invalid"},
		{strings.Repeat("x", 64), "x", "the name is invalid"},
		{"a b", "x", "the name is invalid"},
	} {
		if got := PropertyProblem(tt.name, tt.value); (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
			t.Errorf("%q: %.40q: %q, want %q", tt.name, tt.value, got, tt.want)
		}
	}
}

// Invalid properties do not count, and the choice does not depend on the order of a map.
func TestProperties(t *testing.T) {
	all := map[string]brokerv1alpha1.PropertyValue{"0": "\n"}
	for i := range MaxProperties + 2 {
		all[fmt.Sprintf("p%03d", i)] = "x"
	}
	valid, leftOut := Properties(all)
	if len(valid) != MaxProperties || valid["p063"] != "x" {
		t.Errorf("%d are valid: %v", len(valid), valid)
	}
	if want := []string{"0", "p064", "p065"}; !slices.Equal(slices.Sorted(maps.Keys(leftOut)), want) || !strings.Contains(leftOut["p064"], "at most 64") {
		t.Errorf("left out are %v, want %v", leftOut, want)
	}
	if valid, leftOut := Properties(nil); len(valid)+len(leftOut) > 0 {
		t.Errorf("%v, %v", valid, leftOut)
	}
}
