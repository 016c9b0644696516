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
	number   = flag.Uint64("seeds", 0, "how many seeds to try; 0 for as many as a suite has time for, and those that have failed once")
	restores = flag.Bool("restores", false, "have the broker backed up, put back and wiped in all worlds, and not only in those of seeds that have failed once")
	verbose  = flag.Bool("log", false, "show what the agents log")
)

// kept are seeds that have failed once, of worlds in which the broker is put back and wiped, and why. How a world goes on depends on how its
// goroutines take turns too, so that a seed is no proof; each cause has a test of its own as well.
var kept = []uint64{
	20,   // two replicas found one restore twice, and who had published again in between was awaited for ever
	54,   // an answer from before the broker was put back, likewise
	5004, // a broker that is put back, or another one with lower versions: who finds it, and copies that were deaf
	5016,
	5034,
	5042,  // the own heartbeat is older because the broker is another one, where others have published already
	6001,  // who had not come back when the backup was made comes back while somebody looks
	20048, // two replicas, of which one hears late of what the other one has found
	60042, // a namespace that was made anew, and may not be read just then
	70319, // a copy that never showed the own entry, as it was put back, so that each change of it was refused
	41388, // a namespace that was deleted, and put back before a heartbeat
	41015, // a slice of somebody's has the others searched for what they share
}

func init() {
	utilruntime.ErrorHandlers = nil // they hold up errors, by a clock of all bubbles together
	klog.SetLogger(logr.Discard())
	clog.Discard()
}

// seeds hands out seeds, until there were enough.
type seeds struct {
	mu       sync.Mutex
	waiting  []uint64
	next     uint64
	left     uint64
	until    time.Time
	tried    int
	slowest  time.Duration
	imported int
	asked    []uint64 // the seeds in whose worlds somebody was asked
}

func newSeeds() *seeds {
	s := &seeds{next: *first, left: *number}
	switch {
	case *duration > 0:
		s.until = time.Now().Add(*duration)
	case *number > 0:
	case testing.Short():
		s.waiting, s.left = kept[:2], 2
	default:
		s.waiting, s.left = kept, 12
	}
	return s
}

// take returns a seed, and whether the broker is put back and wiped in its world.
func (s *seeds) take() (seed uint64, restoring, more bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case len(s.waiting) > 0:
		seed, s.waiting, restoring = s.waiting[0], s.waiting[1:], true
	case *duration > 0 && time.Now().Before(s.until):
		seed = s.next
		s.next++
	case *duration == 0 && s.left > 0:
		seed = s.next
		s.next++
		s.left--
	default:
		return 0, false, false
	}
	s.tried++
	return seed, restoring || *restores, true
}

func (s *seeds) note(seed uint64, w *world) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.slowest = max(s.slowest, w.slowest)
	s.imported += w.imported
	if len(w.asked) > 0 {
		s.asked = append(s.asked, seed)
	}
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
			for seed, restoring, more := s.take(); more && !t.Failed(); seed, restoring, more = s.take() {
				t.Run(fmt.Sprint(seed), func(t *testing.T) {
					if w := try(t, seed, restoring); w != nil {
						s.note(seed, w)
					}
				})
			}
		})
	}
	running.Wait()
	t.Logf("%d seeds; %d imports were as they should be, the last of a world after %v at most; somebody was awaited for long, and asked, in the worlds of seeds %v",
		s.tried, s.imported, s.slowest, s.asked)
	if s.imported == 0 {
		t.Error("nothing was imported anywhere: this says nothing")
	}
}

// try runs the world of a seed.
func try(t *testing.T, seed uint64, restoring bool) *world {
	log := slog.New(slog.DiscardHandler)
	if *verbose {
		log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	var w *world
	var failed error
	inBubble(t, func(ctx context.Context) {
		w, failed = newWorld(seed, restoring, log)
		if failed == nil {
			failed = w.run(ctx)
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
func inBubble(t *testing.T, f func(context.Context)) {
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
		f(t.Context())
	})
}

// stacks are those of all goroutines, the caller's first.
func stacks() []string {
	text := make([]byte, 16<<20)
	return strings.Split(string(text[:runtime.Stack(text, true)]), "\n\n")
}
