package serviceexport

import (
	"errors"
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
	export := &mcsv1beta1.ServiceExport{}
	if got := unsaid(export, []status.Remark{cut}); len(got) != 1 {
		t.Errorf("without a condition, left to say: %v", got)
	}
	own := local.Own{Validity: contribution.Validity{Valid: true}}
	export.Status.Conditions = []metav1.Condition{ready(own, true, nil, status.Outcome{Remarks: []status.Remark{cut}})}
	another := status.Remark{Reason: "Another", Message: "There is more."}
	if got := unsaid(export, []status.Remark{cut, another}); len(got) != 1 || got[0] != another {
		t.Errorf("left to say: %v", got)
	}
}
