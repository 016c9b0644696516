// Package figure formats benchmark results with their baselines and targets.
package figure

import (
	"fmt"
	"io"
	"math"
	"text/tabwriter"
	"time"

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
	name, unit string
	// values are what was measured, and floor what the same costs without any logic, in the same run; none where that is not known.
	values, floor []float64
	target        string
	met           bool
	note          string
}

// New returns a figure of values, with its floor's if there is one.
func New(name, unit string, values []float64, floor ...float64) Figure {
	return Figure{name: name, unit: unit, values: values, floor: floor}
}

// Once returns a figure of one value, with its floor's if there is one.
func Once(name, unit string, value float64, floor ...float64) Figure {
	return New(name, unit, []float64{value}, floor...)
}

// Times returns the figure of durations, in the unit Milliseconds or Seconds.
func Times(name, unit string, durations, floor []time.Duration) Figure {
	in := func(durations []time.Duration) (values []float64) {
		for _, d := range durations {
			value := d.Seconds()
			if unit == Milliseconds {
				value *= 1000
			}
			values = append(values, value)
		}
		return values
	}
	return New(name, unit, in(durations), in(floor)...)
}

// value is the figure: of several values the median.
func (f Figure) value() float64 { return spread.Of(f.values).P50 }

// ratio is the value by the floor.
func (f Figure) ratio() float64 { return f.value() / spread.Of(f.floor).P50 }

// AtMostFloors sets the target that the figure be at most so many times its floor.
func (f Figure) AtMostFloors(times float64) Figure {
	return f.aims(fmt.Sprintf("at most %g x floor", times), f.ratio() <= times)
}

// AtMost sets the target that the figure be at most that.
func (f Figure) AtMost(value float64) Figure {
	return f.aims(fmt.Sprintf("at most %g %s", value, f.unit), f.value() <= value)
}

// AtLeastFloors sets the target that the figure be at least so many times its floor.
func (f Figure) AtLeastFloors(times float64) Figure {
	return f.aims(fmt.Sprintf("at least %g x floor", times), f.ratio() >= times)
}

// Exactly sets the target that the figure be just that.
func (f Figure) Exactly(value float64) Figure {
	return f.aims(fmt.Sprintf("%g %s", value, f.unit), f.value() == value)
}

func (f Figure) aims(target string, met bool) Figure {
	f.target, f.met = target, met
	return f
}

// Because returns the figure with a note, which explains what a reader might wonder about.
func (f Figure) Because(note string) Figure {
	f.note = note
	return f
}

// Case is what one case of a benchmark has found.
type Case struct {
	figures []Figure
	// Notes are remarks below the table.
	Notes []string
}

// Add adds figures.
func (c *Case) Add(figures ...Figure) { c.figures = append(c.figures, figures...) }

// Missed returns how many of its targets the case misses.
func (c *Case) Missed() (missed int) {
	for _, f := range c.figures {
		if f.target != "" && !f.met {
			missed++
		}
	}
	return missed
}

// Print writes a case for people.
func (c *Case) Print(w io.Writer) {
	if len(c.figures) > 0 {
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(columns, "  \tmeasured\tp99\tfloor\tp99\tratio\ttarget\t")
		for _, f := range c.figures {
			value, p99 := middle(f.values)
			floor, floorP99 := middle(f.floor)
			var ratio, verdict string
			if floor != "" {
				ratio = fmt.Sprintf("%.2f x", f.ratio())
			}
			if f.target != "" {
				verdict = map[bool]string{true: "met", false: "NOT MET"}[f.met]
			}
			fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.name, value+" "+f.unit, p99, floor, floorP99, ratio, f.target, verdict)
		}
		_ = columns.Flush() // as with every other print, there is nobody to tell
		for _, f := range c.figures {
			if f.note != "" {
				fmt.Fprintf(w, "  * %s: %s\n", f.name, f.note)
			}
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "  * %s\n", note)
	}
}

// middle writes the median of values, and of several the 99th percentile.
func middle(values []float64) (median, p99 string) {
	if len(values) == 0 {
		return "", ""
	}
	of := spread.Of(values)
	if len(values) > 1 {
		p99 = number(of.P99)
	}
	return number(of.P50), p99
}

// number writes a figure with three significant digits, a large one as a whole number.
func number(value float64) string {
	if value == math.Trunc(value) || math.Abs(value) >= 100 {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.3g", value)
}
