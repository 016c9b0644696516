package report

import (
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Finding is a problem.
type Finding struct {
	Severity Severity `json:"severity"`
	// About is the object, for example "export shop/web".
	About string `json:"about"`
	// Message describes the problem.
	Message string `json:"message"`
	// Do is the fix.
	Do string `json:"do,omitempty"`
}

// Severity is the severity of a finding.
type Severity string

// Values of Severity.
const (
	// Error breaks the export, import or resolution of services.
	Error Severity = "error"
	// Warning is a working state that probably nobody intended.
	Warning Severity = "warning"
	// Pending usually clears by itself, because work has just begun.
	Pending Severity = "pending"
)

// severities lists the worst first.
var severities = []Severity{Error, Warning, Pending}

// Beginnings of About, before the object's namespace and name.
const (
	AboutExport    = "export "
	AboutImport    = "import "
	AboutEndpoints = "endpoints of "
	AboutCluster   = "cluster "
)

// Findings are in the order of their discovery.
type Findings []Finding

func (f *Findings) add(severity Severity, about, message, do string) {
	*f = append(*f, Finding{severity, about, message, do})
}

// notJoined adds that the cluster is not a member.
func (f *Findings) notJoined(on command.Cluster) {
	f.add(Error, "membership", survey.ErrNotJoined.Error(), on.ToJoin())
}

// unread adds the objects that could not be read, except the broker's.
func (f *Findings) unread(s *survey.Survey) {
	for _, err := range s.Unread {
		f.add(Warning, "this report", err.Error(), "Get the permission to read these objects, or ask an administrator to run the command.")
	}
}
