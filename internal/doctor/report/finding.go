package report

import (
	"strings"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Finding is something that is not as it should be.
type Finding struct {
	Severity Severity `json:"severity"`
	// About is what it concerns, as "export shop/web".
	About string `json:"about"`
	// Message says what is wrong.
	Message string `json:"message"`
	// Do says what to do about it.
	Do string `json:"do,omitempty"`
}

// Severity is how bad a finding is.
type Severity string

// The severities.
const (
	// Error is what keeps services from being exported, imported or found.
	Error Severity = "error"
	// Warning is what works, and not as somebody has meant it.
	Warning Severity = "warning"
	// Pending is what goes away by itself as a rule: what has just been begun.
	Pending Severity = "pending"
)

// severities are the worst first.
var severities = []Severity{Error, Warning, Pending}

// Findings are in the order in which they were made.
type Findings []Finding

func (f *Findings) add(severity Severity, about, message, do string) {
	*f = append(*f, Finding{severity, about, message, do})
}

// notJoined says that the cluster is not a member.
func (f *Findings) notJoined(on command.Cluster) {
	f.add(Error, "membership", survey.ErrNotJoined.Error(), "Get a join file from the broker's administrator, then join: "+on.Atoll("join FILE"))
}

// unread adds what could not be read, beside the broker.
func (f *Findings) unread(s *survey.Survey) {
	for _, err := range s.Unread {
		f.add(Warning, "this report", err.Error(), "Get the permission to read these objects, or ask somebody who has it to run the command.")
	}
}

// severity is how bad an export's status is, and false where nothing is wrong with it.
func (e Export) severity() (severity Severity, wrong bool) {
	switch {
	case e.Status == string(mcsv1beta1.ServiceExportConditionReady), e.Status == published:
		return "", false
	case e.Status == string(mcsv1beta1.ServiceExportReasonPending), e.Status == noStatus:
		return Pending, true
	case strings.HasSuffix(e.Status, "Conflict"):
		return Warning, true
	}
	return Error, true
}

// severity is the same of an import's. One that Atoll has not made it can't be said of.
func (i Import) severity() (severity Severity, wrong bool) {
	switch i.Status {
	case string(mcsv1beta1.ServiceImportConditionReady):
		return "", false
	case string(mcsv1beta1.ServiceImportReasonPending), noStatus:
		return Pending, true
	}
	return Error, true
}
