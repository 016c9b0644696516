package scenario

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// TestScenarios runs every script in a lab of the shape that it needs.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("labs need root and a minute each")
	}
	if err := checkMachine(); err != nil {
		t.Fatal(err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	if deadline, ok := t.Deadline(); ok { // leave time to take labs down
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Minute))
		defer cancel()
	}
	all := scripts(t)
	labs := newLabs(t)
	defer labs.end(t)
	for _, script := range all {
		t.Run(script.Name, func(t *testing.T) {
			if ctx.Err() != nil {
				t.Fatal("not run: ", ctx.Err())
			}
			log := func(format string, args ...any) { fmt.Fprintf(t.Output(), format+"\n", args...) }
			if err := Execute(ctx, script, labs.get(ctx, t, script.Shape), log); err != nil {
				t.Error(err)
			}
		})
	}
}

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
		return cmp.Or(cmp.Compare(a.Shape.Nodes, b.Shape.Nodes), -cmp.Compare(a.Shape.IPFamily, b.Shape.IPFamily),
			cmp.Compare(a.Shape.AdvertiseMode, b.Shape.AdvertiseMode), bareLast(a, b), -cmp.Compare(a.Shape.Clusters, b.Shape.Clusters), cmp.Compare(a.Name, b.Name))
	})
	return all
}

// bareLast puts scripts that need Atoll before those that do not.
func bareLast(a, b *Script) int {
	switch {
	case a.Shape.Bare == b.Shape.Bare:
		return 0
	case b.Shape.Bare:
		return -1
	default:
		return 1
	}
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
