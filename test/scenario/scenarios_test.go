package scenario

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

var labsAtOnce = flag.Int("labs", 2, "how many labs scenarios run in at a time")

// failed collects the failed scenarios. TestMain prints them at the very end, because the first
// report is buried in thousands of lines of several labs.
var failed failures

// errLab is the failure of a scenario whose script has not failed.
var errLab = errors.New("its lab could not be started, changed or ended: see above")

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Print(failed.told.String())
	os.Exit(code)
}

// TestScenarios runs every script and the hostile member, each in a lab of the required shape.
//
// Pitfall 35: hostile.
func TestScenarios(t *testing.T) {
	if testing.Short() {
		t.Skip("labs need root and a minute each")
	}
	planes.NoError(t, checkMachine())
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	defer stop()
	if deadline, ok := t.Deadline(); ok { // leave time to take labs down
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, deadline.Add(-time.Minute))
		defer cancel()
	}
	given := givenLab(t)
	which := os.Getenv(formsVariable)
	nightly := planes.Nightly() || which == "all"
	forms := forms(scripts(t), nightly || given != nil || which != "")
	if given == nil {
		forms = append(forms, hostile(nightly))
	}
	if which != "" && which != "all" {
		forms = slices.DeleteFunc(forms, func(f form) bool { return !strings.HasSuffix(f.name, "/"+which) })
	}
	if given != nil {
		labs := &labs{current: given, given: true, dns: given.Spec.DNS}
		for _, f := range forms {
			runForm(ctx, t, labs, f)
		}
		labs.down(t)
		labs.switchDNS(context.WithoutCancel(ctx), t, labs.dns)
		return
	}
	removeAbandoned(t)
	runForms(ctx, t, forms)
}

// runForms runs scripts in several labs at a time, because a scenario waits more than it
// computes.
func runForms(ctx context.Context, t *testing.T, forms []form) {
	programs, remove, err := planes.Programs(ctx)
	planes.NoError(t, err)
	defer remove()
	agenda := newAgenda(forms)
	var workers sync.WaitGroup
	for i := range *labsAtOnce {
		workers.Go(func() {
			labs := &labs{name: fmt.Sprintf("%s%d-%d", labPrefix, os.Getpid(), i+1), programs: programs}
			defer labs.down(t)
			for f, g := agenda.next(nil); f != nil; f, g = agenda.next(g) {
				runForm(ctx, t, labs, *f)
			}
		})
	}
	workers.Wait()
}

func runForm(ctx context.Context, t *testing.T, labs *labs, f form) {
	t.Run(f.name, func(t *testing.T) {
		if ctx.Err() != nil {
			t.Fatal("not run: ", ctx.Err())
		}
		log := func(format string, args ...any) { fmt.Fprintf(t.Output(), format+"\n", args...) }
		var why error
		defer func() {
			if t.Failed() {
				failed.add(t.Name(), cmp.Or(why, errLab))
			}
		}()
		if f.run != nil {
			labs.get(ctx, t, f.shape)
			t.Cleanup(func() { labs.down(t) }) // after the cleanup of f.run, because other scenarios cannot use the lab
			f.run(t, labs.current)
		} else if why = executeIn(ctx, f.script, labs.get(ctx, t, f.shape), &labs.going, log); why != nil {
			t.Error(why)
		}
		if t.Failed() && f.run == nil {
			labs.down(t) // the failed script may have left changes that would break other scenarios
		}
	})
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

// form is a script, or a function, with the shape of its lab.
type form struct {
	name   string
	script *Script
	run    func(t *testing.T, l *lab.Lab)
	shape  Shape
}

// forms returns the first form of each script that is not long; nightly, all forms of all
// scripts.
func forms(scripts []*Script, nightly bool) []form {
	var forms []form
	for _, script := range scripts {
		if script.Long && !nightly {
			continue
		}
		forms = append(forms, form{name: script.Name, script: script, shape: script.Shape})
		for _, shape := range script.Also {
			name := string(shape.IPFamily)
			if shape.DNS != script.Shape.DNS {
				name = string(shape.DNS)
			}
			if nightly {
				forms = append(forms, form{name: script.Name + "/" + name, script: script, shape: shape})
			}
		}
	}
	return forms
}

// TestScripts checks every script without a lab. No two scripts may share a namespace:
// leftovers of one script could make another succeed.
func TestScripts(t *testing.T) {
	owner := map[string]string{}
	for _, script := range scripts(t) {
		for _, c := range script.calls() {
			if c.verb.Name != "namespace" {
				continue
			}
			namespace := c.words[0].String()
			if other := owner[namespace]; other != "" && other != script.Name {
				t.Errorf("%s and %s both use the namespace %s", other, script.Name, namespace)
			}
			owner[namespace] = script.Name
		}
	}
}

// failureLines is the number of last lines of a failure in the summary.
const failureLines = 60

// failures collects failures of several goroutines.
type failures struct {
	mu   sync.Mutex
	told strings.Builder
}

func (f *failures) add(name string, err error) {
	lines := strings.Split(err.Error(), "\n")
	if n := len(lines); n > failureLines { // the first names the line of the script
		lines = append([]string{lines[0], "\t…"}, lines[n-failureLines:]...)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(&f.told, "\nfailed: %s\n%s\n", name, strings.Join(lines, "\n"))
}

// The summary has the first line and the last lines of a long failure, and all of a short
// failure.
func TestFailuresAreToldAgain(t *testing.T) {
	var f failures
	f.add("short", errors.New("a.txtar:1: http\n\tnothing answers"))
	f.add("long", errors.New("b.txtar:2: follow\n"+strings.Repeat("\tdropped\n", 100)+strings.Repeat("\tkept\n", failureLines-1)+"\tend"))
	want := "\nfailed: short\na.txtar:1: http\n\tnothing answers\n\nfailed: long\nb.txtar:2: follow\n\t…\n" + strings.Repeat("\tkept\n", failureLines-1) + "\tend\n"
	if f.told.String() != want {
		t.Errorf("told %q\nwant %q", f.told.String(), want)
	}
}
