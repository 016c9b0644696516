package convergence

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"runtime"
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

// seeds hands out seeds, until there were enough.
type seeds struct {
	mu       sync.Mutex
	next     uint64
	left     uint64
	until    time.Time
	tried    int
	slowest  time.Duration
	imported int
}

func newSeeds() *seeds {
	s := &seeds{next: *first, left: *number}
	switch {
	case *duration > 0:
		s.until = time.Now().Add(*duration)
	case *number > 0:
	case testing.Short():
		s.left = 4
	default:
		s.left = 24
	}
	return s
}

// take returns a seed.
func (s *seeds) take() (seed uint64, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case *duration > 0 && time.Now().Before(s.until):
		seed = s.next
		s.next++
	case *duration == 0 && s.left > 0:
		seed = s.next
		s.next++
		s.left--
	default:
		return 0, false
	}
	s.tried++
	return seed, true
}

func (s *seeds) note(seed uint64, w *world) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowest = max(s.slowest, w.slowest)
	s.imported += w.imported
}

// TestConvergence tries seeds: each is a world that breaks and heals. How it is done is in the
// comment of the package; make test-convergence does it for as long as one likes.
//
// Pitfall 32. Pitfall 33.
func TestConvergence(t *testing.T) {
	s := newSeeds()
	var running sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		running.Go(func() {
			for seed, more := s.take(); more && !t.Failed(); seed, more = s.take() {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					if w := try(t, seed); w != nil {
						s.note(seed, w)
					}
				})
			}
		})
	}
	running.Wait()
	t.Logf("%d seeds; %d imports were as they should be, the last of a world after %v at most",
		s.tried, s.imported, s.slowest)
	if s.imported == 0 {
		t.Error("nothing was imported anywhere: this says nothing")
	}
}

// try runs the world of a seed.
func try(t *testing.T, seed uint64) *world {
	log := slog.New(slog.DiscardHandler)
	if *verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	var w *world
	var failed error
	inBubble(t, func(t *testing.T) {
		w, failed = newWorld(seed, log)
		if failed == nil {
			failed = w.run(t.Context())
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

// run has a world begin, and three times break and heal.
func (w *world) run(ctx context.Context) error {
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
	for round := range 3 {
		if round > 0 {
			w.turnClocks(ctx)
		}
		for range 10 + w.random.IntN(30) {
			if err := w.happen(ctx); err != nil {
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

// inBubble runs f in a bubble of its own. A goroutine that is left in it is an error, but for
// those that a defect of apimachinery's leaves: a filtered watch that is stopped while it hands
// over an event never ends.
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

// stacks are those of all goroutines, the caller's first.
func stacks() []string {
	text := make([]byte, 16<<20)
	return strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
}
