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

// Figure is a measured figure.
type Figure struct {
	name, unit string
	// values are the measured values. floor is the cost of the same work without any logic in the same run, or empty if unknown.
	values, floor []float64
	target        string
	met           bool
	note          string
}

// New returns a figure of values, with the values of its floor if there is one.
func New(name, unit string, values []float64, floor ...float64) Figure {
	return Figure{name: name, unit: unit, values: values, floor: floor}
}

// Once returns a figure of a single value, with the value of its floor if there is one.
func Once(name, unit string, value float64, floor ...float64) Figure {
	return New(name, unit, []float64{value}, floor...)
}

// Times returns a figure of durations, in Milliseconds or Seconds.
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

// value returns the median of the values.
func (f Figure) value() float64 { return spread.Of(f.values).P50 }

// ratio returns the value divided by the floor.
func (f Figure) ratio() float64 { return f.value() / spread.Of(f.floor).P50 }

// AtMostFloors sets the target: at most this multiple of the floor.
func (f Figure) AtMostFloors(times float64) Figure {
	return f.aims(fmt.Sprintf("at most %g x floor", times), f.ratio() <= times)
}

// AtMost sets the target: at most this value.
func (f Figure) AtMost(value float64) Figure {
	return f.aims(fmt.Sprintf("at most %g %s", value, f.unit), f.value() <= value)
}

// P99AtMost sets the target: the 99th percentile is at most this value.
func (f Figure) P99AtMost(value float64) Figure {
	return f.aims(fmt.Sprintf("p99 at most %g %s", value, f.unit), spread.Of(f.values).P99 <= value)
}

// AtMostAboveFloor sets the target: at most this much more than the floor.
func (f Figure) AtMostAboveFloor(more float64) Figure {
	return f.aims(fmt.Sprintf("at most floor + %g %s", more, f.unit), f.value() <= spread.Of(f.floor).P50+more)
}

// AtLeastFloors sets the target: at least this multiple of the floor.
func (f Figure) AtLeastFloors(times float64) Figure {
	return f.aims(fmt.Sprintf("at least %g x floor", times), f.ratio() >= times)
}

// Exactly sets the target: exactly this value.
func (f Figure) Exactly(value float64) Figure {
	return f.aims(fmt.Sprintf("%g %s", value, f.unit), f.value() == value)
}

func (f Figure) aims(target string, met bool) Figure {
	f.target, f.met = target, met
	return f
}

// Because adds a note that explains the figure.
func (f Figure) Because(note string) Figure {
	f.note = note
	return f
}

// Series counts requests over time.
type Series struct {
	Name    string   `json:"name"`
	Samples []Sample `json:"samples"`
}

// Sample counts the requests that began in a second.
type Sample struct {
	Second int `json:"second"`
	Sent   int `json:"sent"`
	Failed int `json:"failed"`
}

// Case holds the results of a benchmark case.
type Case struct {
	figures []Figure
	Series  []Series
	// Notes are printed below the table.
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

// Result is what a file of results has of a case.
type Result struct {
	Case    string   `json:"case"`
	Figures []Values `json:"figures"`
	Series  []Series `json:"series,omitempty"`
}

// Values is the spread of a figure.
type Values struct {
	Name  string         `json:"name"`
	Unit  string         `json:"unit"`
	Atoll spread.Spread  `json:"atoll"`
	Floor *spread.Spread `json:"floor,omitempty"`
}

// Result returns the results of the case with this name.
func (c *Case) Result(name string) Result {
	result := Result{Case: name, Series: c.Series}
	for _, f := range c.figures {
		if len(f.values) == 0 {
			continue
		}
		values := Values{Name: f.name, Unit: f.unit, Atoll: spread.Of(f.values)}
		if len(f.floor) > 0 {
			floor := spread.Of(f.floor)
			values.Floor = &floor
		}
		result.Figures = append(result.Figures, values)
	}
	return result
}

// Print prints the results.
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
		_ = columns.Flush() // errors of printing are ignored everywhere
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

// number formats a value with three significant digits, or a large value as a whole number.
func number(value float64) string {
	if value == math.Trunc(value) || math.Abs(value) >= 100 {
		return fmt.Sprintf("%.0f", value)
	}
	return fmt.Sprintf("%.3g", value)
}
