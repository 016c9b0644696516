package scenario

import (
	"cmp"
	"path/filepath"
	"slices"
	"testing"
)

// scripts parses all of testdata.
func scripts(t *testing.T) []*Script {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	var all []*Script
	for _, file := range files {
		script, err := ParseFile(file)
		if err != nil {
			t.Error(err)
			continue
		}
		all = append(all, script)
	}
	// Those that can share a lab stand together, the most demanding first.
	slices.SortStableFunc(all, func(a, b *Script) int {
		return cmp.Or(cmp.Compare(a.Shape.IPFamily, b.Shape.IPFamily), cmp.Compare(a.Shape.Nodes, b.Shape.Nodes),
			-cmp.Compare(a.Shape.Clusters, b.Shape.Clusters), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// TestScripts checks every script without a lab, and that no two of them use
// one namespace: what one leaves behind must not make another pass.
func TestScripts(t *testing.T) {
	owner := map[string]string{}
	for _, script := range scripts(t) {
		for _, namespace := range script.Namespaces() {
			if other := owner[namespace]; other != "" && other != script.Name {
				t.Errorf("%s and %s both use the namespace %s", other, script.Name, namespace)
			}
			owner[namespace] = script.Name
		}
	}
}
