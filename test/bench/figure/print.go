package figure

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"text/tabwriter"

	"github.com/atoll-mcs/atoll/internal/doctor/spread"
)

// WriteJSON writes the report as one document.
func (r *Report) WriteJSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return fmt.Errorf("writing the report: %w", err)
	}
	return nil
}

// Print writes a case for people.
func (c *Case) Print(w io.Writer) {
	fmt.Fprintf(w, "\n%s: %s (%.0f s)\n", c.Name, c.About, c.Seconds)
	if c.Error != "" {
		fmt.Fprintf(w, "  FAILED: %s\n", c.Error)
	}
	if len(c.Figures) > 0 {
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
		fmt.Fprintln(columns, "  \tmeasured\tp99\tfloor\tp99\tratio\ttarget\t")
		for _, f := range c.Figures {
			var ratio, verdict string
			if f.Ratio != nil {
				ratio = fmt.Sprintf("%.2f x", *f.Ratio)
			}
			if f.Met != nil {
				verdict = map[bool]string{true: "met", false: "NOT MET"}[*f.Met]
			}
			fmt.Fprintf(columns, "  %s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", f.Name, number(&f.Value)+" "+f.Unit, p99(f.Spread),
				number(f.Floor), p99(f.FloorSpread), ratio, f.Target, verdict)
		}
		_ = columns.Flush() // as with every other print, there is nobody to tell
		for _, f := range c.Figures {
			if f.Note != "" {
				fmt.Fprintf(w, "  * %s: %s\n", f.Name, f.Note)
			}
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintf(w, "  * %s\n", note)
	}
}

func p99(s *spread.Spread) string {
	if s == nil {
		return ""
	}
	return number(&s.P99)
}

// number writes a figure with three significant digits, a large one as a whole number.
func number(value *float64) string {
	switch {
	case value == nil:
		return ""
	case *value == math.Trunc(*value) || math.Abs(*value) >= 100:
		return fmt.Sprintf("%.0f", *value)
	}
	return fmt.Sprintf("%.3g", *value)
}
