package output

import (
	"fmt"
	"io"
	"os"
	"time"

	"golang.org/x/term"
	"k8s.io/apimachinery/pkg/util/duration"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// Mark is a status symbol at the start of a line.
type Mark struct{ text, color string }

// The marks, with their colours on terminals (ECMA-48, "Select Graphic Rendition").
var (
	Good    = Mark{"√", "32"}
	Warning = Mark{"‼", "33"}
	Bad     = Mark{"×", "31"}
	Pending = Mark{"…", "36"}
	Skipped = Mark{"–", "2"}
)

// On returns the mark for w: in colour on a terminal, unless NO_COLOR is set (https://no-color.org).
func (m Mark) On(w io.Writer) string {
	if file, ok := Raw(w).(*os.File); ok && os.Getenv("NO_COLOR") == "" && term.IsTerminal(int(file.Fd())) {
		return m.colored()
	}
	return m.text
}

func (m Mark) colored() string { return "\x1b[" + m.color + "m" + m.text + "\x1b[0m" }

var marks = map[report.Severity]Mark{report.Error: Bad, report.Warning: Warning, report.Pending: Pending}

// Heartbeat returns the age of a member's last heartbeat for a cell.
func Heartbeat(m report.Member) string {
	if m.HeartbeatSeconds == nil {
		return "-"
	}
	return duration.HumanDuration(time.Duration(*m.HeartbeatSeconds) * time.Second)
}

// Findings writes each problem with its fix.
func Findings(w io.Writer, findings []report.Finding) {
	for _, f := range findings {
		fmt.Fprintf(w, "%s %s: %s\n", marks[f.Severity].On(w), printable.Line(f.About), printable.Line(f.Message))
		if f.Do != "" {
			fmt.Fprintf(w, "    %s\n", printable.Line(f.Do))
		}
	}
}
