package output

import (
	"bytes"
	"testing"
)

// TestFormats: the same rows as a table, as a wide table, as names, and as JSON or YAML. An
// empty list prints a header in a table and an empty list in JSON.
func TestFormats(t *testing.T) {
	type row struct {
		Name string `json:"name"`
		Size int    `json:"size"`
	}
	columns := Columns[row]{Headers: []string{"NAME"}, Wide: []string{"MORE"}, Cells: func(r row) []any { return []any{r.Name, ""} }}
	name := func(r row) string { return "the/" + r.Name }
	some := []row{{"a<b", 1}, {"longer", 2}}
	for _, c := range []struct {
		format Format
		rows   []row
		want   string
	}{
		{Table, some, "NAME\na<b\nlonger\n"},
		{Wide, some, "NAME    MORE\na<b     -\nlonger  -\n"},
		{Name, some, "the/a<b\nthe/longer\n"},
		{YAML, some, "- name: a<b\n  size: 1\n- name: longer\n  size: 2\n"},
		{JSON, some[:1], "[\n  {\n    \"name\": \"a<b\",\n    \"size\": 1\n  }\n]\n"},
		{JSON, nil, "[]\n"},
		{Table, nil, "NAME\n"},
		{Name, nil, ""},
	} {
		var got bytes.Buffer
		if err := Rows(&got, c.format, c.rows, name, columns); err != nil || got.String() != c.want {
			t.Errorf("%s: %q, %v, want %q", c.format, got.String(), err, c.want)
		}
	}
}
