package flood

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/planes"
)

var profiles = flag.String("profiles", "", "folder for CPU profiles of the importer's agent, by phase")

// sample has the counters at the beginning or the end of a phase.
type sample struct {
	at      time.Time
	times   map[string]time.Duration
	metrics map[string]bed.Metrics // of the agents
	heap    float64                // of c2's agent, without garbage
	waited  time.Duration          // in which any program of the machine waited for a processor
	answers int                    // of the flood
	stored  int                    // objects that the flood has created once
}

// Names among the units, of this program and of all programs of the machine.
const testProgram, wholeMachine = "the test with the flood", "all programs"

func takeSample(t *testing.T, b *bed.Bed, f *flood) sample {
	t.Helper()
	s := sample{metrics: map[string]bed.Metrics{}}
	var err error
	for _, member := range b.Members {
		s.metrics[member], err = b.AgentMetrics(t.Context(), member)
		planes.NoError(t, err)
	}
	s.heap = s.metrics["c2"].Sum("go_memstats_heap_alloc_bytes")
	s.times, err = b.ProcessorTimes()
	planes.NoError(t, err)
	var own syscall.Rusage
	planes.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &own))
	s.times[wholeMachine], s.waited = processorTime(t), pressure(t)
	s.times[testProgram] = time.Duration(own.Utime.Nano() + own.Stime.Nano())
	s.answers, s.stored = f.sums()
	s.at = time.Now()
	return s
}

// processorTime returns the processor time that all programs of the machine have used.
func processorTime(t *testing.T) (sum time.Duration) {
	t.Helper()
	data, err := os.ReadFile("/proc/stat")
	planes.NoError(t, err)
	line, _, _ := strings.Cut(string(data), "\n")
	for i, field := range strings.Fields(line)[1:9] {
		n, err := strconv.Atoi(field)
		planes.NoError(t, err)
		if i != 3 && i != 4 { // idle, and waiting for disks
			sum += time.Duration(n) * 10 * time.Millisecond
		}
	}
	return sum
}

// pressure returns for how long any program of the machine has waited for a processor (Pressure Stall Information).
func pressure(t *testing.T) time.Duration {
	t.Helper()
	data, err := os.ReadFile("/proc/pressure/cpu")
	planes.NoError(t, err)
	some, _, _ := strings.Cut(string(data), "\n")
	_, total, _ := strings.Cut(some, "total=")
	n, err := strconv.Atoi(total)
	planes.NoError(t, err)
	return time.Duration(n) * time.Microsecond
}

// waited returns the share of the time in which any program of the machine waited for a processor.
func (p phase) waited() float64 {
	return (p.after.waited - p.before.waited).Seconds() / p.after.at.Sub(p.before.at).Seconds()
}

// used returns how many processors a program of the sample has used.
func (p phase) used(program string) float64 {
	return (p.after.times[program] - p.before.times[program]).Seconds() / p.after.at.Sub(p.before.at).Seconds()
}

// busy returns how many processors all programs of the machine have used.
func (p phase) busy() float64 { return p.used(wholeMachine) }

// processors describes the processors that each program has used, most first, and the rate of the flood's requests.
func (p phase) processors() string {
	programs := slices.Collect(maps.Keys(p.after.times))
	slices.SortFunc(programs, func(a, b string) int { return cmp.Compare(p.used(b), p.used(a)) })
	text, others := []string{}, p.busy()
	for _, program := range programs {
		if program == wholeMachine {
			continue
		}
		others -= p.used(program)
		if p.used(program) >= 0.005 {
			text = append(text, fmt.Sprintf("%s %.2f", program, p.used(program)))
		}
	}
	return fmt.Sprintf("%.2f processors, for which programs waited %.0f %% of the time: %s, programs outside the test %.2f; %.0f requests/s", p.busy(), 100*p.waited(), strings.Join(text, ", "), others,
		float64(p.after.answers-p.before.answers)/p.after.at.Sub(p.before.at).Seconds())
}

// measured are the stages of a change, with the member that measures it.
var measured = []struct{ stage, member string }{{"publish", "c1"}, {"import", "c2"}}

// stages describes how long the stages have taken on average.
func (p phase) stages() string {
	var text []string
	for _, of := range measured {
		diff := func(suffix string) float64 {
			sum := func(s sample) float64 {
				return s.metrics[of.member].Sum("atoll_propagation_duration_seconds"+suffix, "stage", of.stage)
			}
			return sum(p.after) - sum(p.before)
		}
		text = append(text, fmt.Sprintf("%s %.0f ms", of.stage, 1000*diff("_sum")/max(1, diff("_count"))))
	}
	return strings.Join(text, ", ")
}

// profile writes a CPU profile of c2's agent in the background.
func profile(t *testing.T, b *bed.Bed, phase string, d time.Duration) {
	t.Helper()
	if *profiles == "" {
		return
	}
	go func() {
		data, err := b.Profile(context.WithoutCancel(t.Context()), "c2", d)
		if err == nil {
			err = os.WriteFile(filepath.Join(*profiles, strings.ReplaceAll(phase, " ", "-")+".pprof"), data, 0o600)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
}
