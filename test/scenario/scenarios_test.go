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
	for _, form := range inOrder(all, labs.given || os.Getenv(formsVariable) == "all") {
		t.Run(form.name, func(t *testing.T) {
			if ctx.Err() != nil {
				t.Fatal("not run: ", ctx.Err())
			}
			log := func(format string, args ...any) { fmt.Fprintf(t.Output(), format+"\n", args...) }
			if err := Execute(ctx, form.script, labs.get(ctx, t, form.shape), log); err != nil {
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
	return all
}

// form is a script and one of the labs that it is to run in.
type form struct {
	name   string
	script *Script
	shape  Shape
}

// inOrder returns the forms of the scripts, also those for which there is time where
// there is, such that those that can share a lab stand
// together, the most demanding first.
func inOrder(scripts []*Script, also bool) []form {
	var forms []form
	for _, script := range scripts {
		shapes := script.Forms
		if also {
			shapes = slices.Concat(shapes, script.Also)
		}
		for i, shape := range shapes {
			name := script.Name
			if i > 0 { // the first goes by the script's own name
				name += "/" + string(shape.IPFamily)
			}
			forms = append(forms, form{name, script, shape})
		}
	}
	slices.SortStableFunc(forms, func(a, b form) int {
		return cmp.Or(cmp.Compare(a.shape.Nodes, b.shape.Nodes), -cmp.Compare(a.shape.IPFamily, b.shape.IPFamily),
			cmp.Compare(a.shape.AdvertiseMode, b.shape.AdvertiseMode), bareLast(a.shape, b.shape), -cmp.Compare(a.shape.Clusters, b.shape.Clusters), cmp.Compare(a.name, b.name))
	})
	return forms
}

// bareLast puts scripts that need Atoll before those that do not.
func bareLast(a, b Shape) int {
	switch {
	case a.Bare == b.Bare:
		return 0
	case b.Bare:
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
