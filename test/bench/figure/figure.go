// Package figure formats benchmark results with their baselines and targets.
package figure

import (
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

// Units of figures.
const (
	Milliseconds = "ms"
	Seconds      = "s"
	MiB          = "MiB"
	Writes       = "writes"
)

// Figure is one thing that was measured.
type Figure struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	// Value is the figure: of several the median.
	Value float64 `json:"value"`
	// Spread is there where it was measured several times.
	Spread *spread.Spread `json:"spread,omitempty"`
	// Floor is what the same costs without any logic, in the same run.
	Floor       *float64       `json:"floor,omitempty"`
	FloorSpread *spread.Spread `json:"floorSpread,omitempty"`
	// Ratio is the value by the floor.
	Ratio *float64 `json:"ratio,omitempty"`
	// Target says what should be reached, and Met whether it is.
	Target string `json:"target,omitempty"`
	Met    *bool  `json:"met,omitempty"`
	// Note explains what a reader might wonder about.
	Note string `json:"note,omitempty"`
}

// New returns a figure that was taken once.
func New(name, unit string, value float64) Figure {
	return Figure{Name: name, Unit: unit, Value: value}
}

// Of returns the figure of values.
func Of(name, unit string, values []float64) Figure {
	over := spread.Of(values)
	return Figure{Name: name, Unit: unit, Value: over.P50, Spread: &over}
}

// Times returns the figure of durations, in the unit Milliseconds or Seconds.
func Times(name, unit string, durations []time.Duration) Figure {
	values := make([]float64, len(durations))
	for i, d := range durations {
		values[i] = d.Seconds()
		if unit == Milliseconds {
			values[i] *= 1000
		}
	}
	return Of(name, unit, values)
}

// OnFloor returns the figure with its floor beside it.
func (f Figure) OnFloor(floor Figure) Figure {
	if floor.Unit != f.Unit {
		panic(fmt.Sprintf("%s is in %s and its floor in %s", f.Name, f.Unit, floor.Unit))
	}
	ratio := f.Value / floor.Value
	f.Floor, f.FloorSpread, f.Ratio = &floor.Value, floor.Spread, &ratio
	return f
}

// AtMostFloors sets the target that the figure be at most so many times its floor.
func (f Figure) AtMostFloors(times float64) Figure {
	return f.target(fmt.Sprintf("at most %g x floor", times), f.Ratio != nil && *f.Ratio <= times)
}

// AtMost sets the target that the figure be at most that.
func (f Figure) AtMost(value float64) Figure {
	return f.target(fmt.Sprintf("at most %g %s", value, f.Unit), f.Value <= value)
}

// AtLeastFloors sets the target that the figure be at least so many times its floor.
func (f Figure) AtLeastFloors(times float64) Figure {
	return f.target(fmt.Sprintf("at least %g x floor", times), f.Ratio != nil && *f.Ratio >= times)
}

// Exactly sets the target that the figure be just that.
func (f Figure) Exactly(value float64) Figure {
	return f.target(fmt.Sprintf("%g %s", value, f.Unit), f.Value == value)
}

// Because returns the figure with a note.
func (f Figure) Because(note string) Figure {
	f.Note = note
	return f
}

func (f Figure) target(text string, met bool) Figure {
	f.Target, f.Met = text, &met
	return f
}

// Case is what one case of a benchmark has found.
type Case struct {
	Name    string   `json:"name"`
	About   string   `json:"about"`
	Seconds float64  `json:"seconds"`
	Figures []Figure `json:"figures,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// Error is why the case came to no end.
	Error string `json:"error,omitempty"`
}

// Add adds figures.
func (c *Case) Add(figures ...Figure) { c.Figures = append(c.Figures, figures...) }

// Missed returns how many of its targets the case misses.
func (c *Case) Missed() int {
	missed := 0
	for _, f := range c.Figures {
		if f.Met != nil && !*f.Met {
			missed++
		}
	}
	return missed
}

// Machine is where it was measured.
type Machine struct {
	CPUs        int     `json:"cpus"`
	MemoryBytes int64   `json:"memoryBytes"`
	Kernel      string  `json:"kernel"`
	Go          string  `json:"go"`
	LoadBefore  float64 `json:"loadBefore"`
}

// ThisMachine describes the machine that this program runs on.
func ThisMachine() Machine {
	m := Machine{CPUs: runtime.NumCPU(), Go: runtime.Version()}
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) == nil {
		m.MemoryBytes, m.LoadBefore = int64(info.Totalram)*int64(info.Unit), float64(info.Loads[0])/(1<<16)
	}
	var name unix.Utsname
	if unix.Uname(&name) == nil {
		m.Kernel = unix.ByteSliceToString(name.Release[:])
	}
	return m
}

// Report is one run of benchmarks.
type Report struct {
	Version   string    `json:"version"`
	Started   time.Time `json:"started"`
	Seconds   float64   `json:"seconds"`
	Arguments []string  `json:"arguments"`
	Machine   Machine   `json:"machine"`
	Cases     []Case    `json:"cases"`
}
