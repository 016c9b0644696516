package serviceexport

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/contribution"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/status"
)

var cut = status.Remark{Reason: "EndpointsTruncated", Message: "Some are left out."}

func TestReady(t *testing.T) {
	for _, tt := range []struct {
		name                    string
		valid, brokerSeen       bool
		record                  error
		endpoints               status.Outcome
		status, reason, message string
	}{
		{"all is well", true, true, nil, status.Outcome{}, "True", "Exported", "The Service is exported to the clusterset."},
		{
			"with something to say", true, true, nil, status.Outcome{Remarks: []status.Remark{cut}},
			"True", "Exported", "The Service is exported to the clusterset. Some are left out.",
		},
		{
			"the record is refused", true, true, errors.New("no"), status.Outcome{Failure: "not either"},
			"False", "Failed", "The export did not reach the broker, and is being tried again: no",
		},
		{
			"an endpoint is refused", true, true, nil, status.Outcome{Failure: "no", Remarks: []status.Remark{cut}},
			"False", "Failed", "Not all endpoints reached the broker. It is being tried again: no",
		},
		{"nothing to export", false, true, nil, status.Outcome{}, "False", "Pending", "There is nothing to export as long as this ServiceExport is not valid."},
		{"no broker", true, false, nil, status.Outcome{}, "False", "Pending", "The broker has not been reached yet."},
	} {
		own := local.Own{Validity: contribution.Validity{Valid: tt.valid}}
		got := ready(own, tt.brokerSeen, tt.record, tt.endpoints)
		if got.Type != "Ready" || string(got.Status) != tt.status || got.Reason != tt.reason || got.Message != tt.message {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
}

func TestWhatTheConditionSaysIsNotSaidAgain(t *testing.T) {
	own := local.Own{Validity: contribution.Validity{Valid: true}}
	says := func(remarks ...status.Remark) []metav1.Condition {
		return []metav1.Condition{{Type: "Valid"}, ready(own, true, nil, status.Outcome{Remarks: remarks})}
	}
	another := status.Remark{Reason: "Another", Message: "There is more."}
	both := []status.Remark{cut, another}
	for name, tt := range map[string]struct {
		before, wanted []metav1.Condition
		want           []status.Remark
	}{
		"there was no condition":      {nil, says(both...), both},
		"one was said":                {says(cut), says(both...), []status.Remark{another}},
		"both were":                   {says(both...), says(both...), nil},
		"another condition alone":     {says(), []metav1.Condition{{Type: "Valid"}}, nil},
		"Ready has else to say":       {says(), []metav1.Condition{ready(own, true, errors.New("no"), status.Outcome{Remarks: both})}, nil},
		"Ready stands as it was said": {says(cut), says(cut), nil},
	} {
		export := &mcsv1beta1.ServiceExport{Status: mcsv1beta1.ServiceExportStatus{Conditions: tt.before}}
		if got := unsaid(export, tt.wanted, both); !slices.Equal(got, tt.want) {
			t.Errorf("%s: left to say: %v", name, got)
		}
	}
}

// Labels that can't be exported leave an export valid and ready, and are named there.
func TestLeftOutMetadataIsARemark(t *testing.T) {
	own := local.Own{Export: &mcsv1beta1.ServiceExport{}, Validity: contribution.Validity{Valid: true, Reason: "Valid"}}
	if got := remarks(own); got != nil {
		t.Errorf("of nothing: %v", got)
	}
	own.Export.Spec.ExportedLabels = map[string]string{"team": "platform team"}
	got := conditions(own, true, nil, status.Outcome{Remarks: remarks(own)}, true)
	if got[0].Status != metav1.ConditionTrue || got[1].Status != metav1.ConditionTrue || !strings.Contains(got[1].Message, `the exported label "team"`) {
		t.Errorf("%+v", got)
	}
}

// Valid is stated at once, whatever is known of the broker; what Ready said stands until the
// broker has been seen and the endpoints were tried.
func TestReadyStandsAloneUntilMoreIsKnown(t *testing.T) {
	before := metav1.Condition{Type: "Ready", Status: "True", Reason: "Exported", Message: "before", ObservedGeneration: 3, LastTransitionTime: metav1.Unix(9, 0)}
	for _, tt := range []struct {
		name                      string
		before, brokerSeen, tried bool
		record                    error
		want                      string // Ready's message, "" for none
	}{
		{"restarted, no broker", true, false, false, nil, "before"},
		{"new, no broker", false, false, false, nil, "The broker has not been reached yet."},
		{"restarted, endpoints untried", true, true, false, nil, "before"},
		{"new, endpoints untried", false, true, false, nil, ""},
		{"the record is refused", true, true, false, errors.New("no"), "The export did not reach the broker, and is being tried again: no"},
		{"all is known", true, true, true, nil, "The Service is exported to the clusterset."},
	} {
		own := local.Own{Export: &mcsv1beta1.ServiceExport{}, Validity: contribution.Validity{Valid: true, Reason: "Valid"}}
		if tt.before {
			own.Export.Status.Conditions = []metav1.Condition{before}
		}
		got := conditions(own, tt.brokerSeen, tt.record, status.Outcome{}, tt.tried)
		if got[0].Type != "Valid" || got[0].Status != metav1.ConditionTrue {
			t.Errorf("%s: the first is %+v", tt.name, got[0])
		}
		message := ""
		if len(got) > 1 {
			message = got[1].Message
		}
		if message != tt.want || message == "before" && got[1] != before {
			t.Errorf("%s: got %+v", tt.name, got)
		}
	}
}
