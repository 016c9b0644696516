package output

import (
	"fmt"
	"io"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
)

// marks stand in front of findings.
var marks = map[report.Severity]string{report.Error: "×", report.Warning: "‼", report.Pending: "…"}

// Findings writes what is not as it should be, each with what to do about it.
func Findings(w io.Writer, findings []report.Finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%s %s: %s\n", marks[f.Severity], f.About, f.Message)
		if f.Do != "" {
			fmt.Fprintf(w, "    %s\n", f.Do)
		}
	}
}
