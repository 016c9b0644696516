package convergence

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	clog "github.com/coredns/coredns/plugin/pkg/log"
	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/klog/v2"
)

var (
	duration = flag.Duration("duration", 0, "try seeds for this long, in place of a number of them")
	first    = flag.Uint64("seed", 1, "the first seed to try")
	number   = flag.Uint64("seeds", 0, "how many seeds to try; 0 for as many as a suite has time for")
	verbose  = flag.Bool("log", false, "show what the agents log")
)

func init() {
	utilruntime.ErrorHandlers = nil // they hold up errors, by a clock of all bubbles together
	klog.SetLogger(logr.Discard())
	clog.Discard()
}

// TestConvergence tries seeds. Each seed is a world with faults that heal; the package comment
// has the details. make test-convergence runs for a chosen time.
//
// Pitfall 32. Pitfall 33.
func TestConvergence(t *testing.T) { trySeeds(t, 24, (*world).run) }

// TestQuiet makes changes one by one, without faults or periodic comparisons, and checks the
// whole clusterset after each change.
func TestQuiet(t *testing.T) { trySeeds(t, 12, (*world).runQuietly) }

func trySeeds(t *testing.T, some uint64, run func(*world, context.Context) error) {
	count := cmp.Or(*number, map[bool]uint64{true: 4, false: some}[testing.Short()])
	until := time.Now().Add(*duration)
	var mu sync.Mutex
	var tried, imported int
	var slowest time.Duration
	take := func() (seed uint64, more bool) {
		mu.Lock()
		defer mu.Unlock()
		if *duration == 0 && uint64(tried) == count || *duration > 0 && time.Now().After(until) {
			return 0, false
		}
		tried++
		return *first + uint64(tried) - 1, true
	}
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for seed, more := take(); more && !t.Failed(); seed, more = take() {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					if w := try(t, seed, run); w != nil {
						mu.Lock()
						defer mu.Unlock()
						slowest, imported = max(slowest, w.slowest), imported+w.imported
					}
				})
			}
		})
	}
	running.Wait()
	t.Logf("%d seeds; %d imports were correct; the slowest world converged after %v", tried, imported, slowest)
	if imported == 0 {
		t.Error("No cluster imported a service. This test checked nothing.")
	}
}

// try runs the world of a seed.
func try(t *testing.T, seed uint64, run func(*world, context.Context) error) *world {
	log := slog.New(slog.DiscardHandler)
	if *verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	var w *world
	var failed error
	inBubble(t, func(t *testing.T) {
		w, failed = newWorld(seed, log)
		if failed == nil {
			failed = w.begin(t.Context())
		}
		if failed == nil {
			failed = run(w, t.Context())
		}
		if w != nil {
			if err := w.end(); err != nil && failed == nil {
				failed = err
			}
		}
	})
	if failed != nil {
		var journal []string
		if w != nil {
			journal = w.journal
		}
		t.Errorf("seed %d: %v\n\nwhat happened:\n%s", seed, failed, strings.Join(journal, "\n"))
	}
	return w
}

// begin waits until a world has converged and starts the guards.
func (w *world) begin(ctx context.Context) error {
	for _, c := range w.clusters {
		if err := c.makeSteady(ctx); err != nil {
			return err
		}
	}
	if err := w.converge(ctx); err != nil {
		return err
	}
	for _, c := range w.clusters {
		g, err := w.watchSteady(ctx, c)
		if err != nil {
			return err
		}
		w.guards = append(w.guards, g)
	}
	return nil
}

// run breaks and heals a world three times.
func (w *world) run(ctx context.Context) error {
	for round := range 3 {
		if round > 0 {
			w.turnClocks(ctx)
		}
		for range 10 + w.random.IntN(30) {
			if err := w.happen(ctx, w.someAct(acts), w.someCluster()); err != nil {
				return err
			}
			w.while(ctx)
		}
		if err := w.converge(ctx); err != nil {
			return err
		}
	}
	return nil
}

// runQuietly changes a world without faults. Comparisons fail, because a comparison would
// repair an object after a missed event.
func (w *world) runQuietly(ctx context.Context) error {
	quiet := slices.DeleteFunc(slices.Clone(acts), func(a act) bool { return a.quiet == 0 })
	w.quiet = true
	for range 30 {
		a := w.someAct(quiet)
		w.allowComparisons(a.quiet >= usual)
		if err := w.happen(ctx, a, w.someCluster()); err != nil {
			return err
		}
		if err := w.settle(ctx, a.quiet); err != nil {
			return err
		}
		w.imported += w.right
		if err := w.verdict(); err != nil {
			return err
		}
	}
	return nil
}

// inBubble runs f in its own synctest bubble. A leaked goroutine is an error. The exception is
// a leak of apimachinery: a filtered watch that is stopped while it delivers an event never
// ends.
func inBubble(t *testing.T, f func(*testing.T)) {
	bubble := ""
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		if !strings.Contains(fmt.Sprint(p), "blocked goroutines remain") {
			panic(p)
		}
		for _, stack := range stacks() {
			if strings.Contains(stack, bubble) && !strings.Contains(stack, "watch.(*filteredWatch).loop") {
				t.Errorf("left over:\n%s", stack)
			}
		}
	}()
	synctest.Test(t, func(t *testing.T) {
		self, _, _ := strings.Cut(stacks()[0], "]:")
		_, bubble, _ = strings.Cut(self+"]:", ", ") // such as "synctest bubble 7]:"
		f(t)
	})
}

// stacks returns the stacks of all goroutines, the caller's first.
func stacks() []string {
	text := make([]byte, 16<<20)
	return strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
}
