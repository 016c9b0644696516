package scenario

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the table of verbs into the manual")

// TestManual keeps the table of verbs in the manual true.
func TestManual(t *testing.T) {
	const manual = "../../docs/testing.md"
	data, err := os.ReadFile(manual)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(data), "<!-- verbs -->\n")
	table, after, ok := strings.Cut(rest, "<!-- /verbs -->")
	if !ok {
		t.Fatalf("%s has no place for the table of verbs", manual)
	}
	if *update {
		page := before + "<!-- verbs -->\n" + VerbTable() + "<!-- /verbs -->" + after
		if err := os.WriteFile(manual, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if table != VerbTable() {
		t.Errorf("%s: the table of verbs is not true any more; go test ./test/scenario -run TestManual -update writes it", manual)
	}
}
